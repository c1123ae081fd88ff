// SPDX-License-Identifier: GPL-2.0-only
/*
 * The erasure codec in the kernel: the fastest loops of this CPU, chosen when the module is loaded,
 * within sections that may use vector registers.
 */
#define pr_fmt(fmt) "meshblk: " fmt
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "driver/group/codec.h"

#ifdef CONFIG_X86_64
#include <asm/fpu/api.h>
#include "protect/codec/codec_x86.h"

#define codec_list		prot_codec_x86_list
#define codec_fpu_usable()	irq_fpu_usable()
#define codec_fpu_begin()	kernel_fpu_begin()
#define codec_fpu_end()		kernel_fpu_end()
#else
static const struct prot_codec_ops *const codec_list[] = { &prot_codec_portable, NULL };

#define codec_fpu_usable()	false
#define codec_fpu_begin()	do { } while (0)
#define codec_fpu_end()		do { } while (0)
#endif

#define CODEC_SECTION	SZ_4K	/* bytes of each strip between chances to preempt the CPU */

static char *codec = "";
module_param(codec, charp, 0444);
MODULE_PARM_DESC(codec, "loops of erasure coding: portable; default: the fastest");

static const struct prot_codec_ops *codec_ops = &prot_codec_portable;

/*
 * Do all codec work of an op of the engine. @map: scratch of this CPU. Any context but hard
 * interrupt; bottom halves are off. Return: true if vector registers could be used.
 */
bool mesh_codec_run(struct prot_group *engine, u32 op, struct prot_map *map)
{
	u32 bytes = prot_group_codec_bytes(engine, op), from, n;

	if (!(codec_ops->flags & PROT_CODEC_FPU) || !codec_fpu_usable()) {
		prot_group_codec(engine, op, &prot_codec_portable, map, 0, bytes);
		return false;
	}
	for (from = 0; from < bytes; from += n) {
		n = min_t(u32, bytes - from, CODEC_SECTION);
		codec_fpu_begin();
		prot_group_codec(engine, op, codec_ops, map, from, n);
		codec_fpu_end();
	}
	return true;
}

/* Choose the loops; may sleep. */
int mesh_codec_init(void)
{
	struct prot_map *map;
	u8 *scratch;

	if (!strcmp(codec, prot_codec_portable.name))
		return 0;
	map = kmalloc(sizeof(*map), GFP_KERNEL);
	scratch = kmalloc(max(PROT_CODEC_SELFTEST_BYTES, PROT_CODEC_SELECT_BYTES), GFP_KERNEL);
	if (map && scratch) {
		codec_fpu_begin();
		codec_ops = prot_codec_select(codec_list, map, scratch, ktime_get_ns);
		codec_fpu_end();
		codec = (char *)codec_ops->name;
	}
	kfree(scratch);
	kfree(map);
	return map && scratch ? 0 : -ENOMEM;
}
