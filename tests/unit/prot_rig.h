/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A protection group by hand: members in memory, I/O that ends at once, or is held
 * back, or fails. For one test program to include.
 */
#ifndef TESTS_UNIT_PROT_RIG_H
#define TESTS_UNIT_PROT_RIG_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>

#include "protect/codec/codec.h"
#include "protect/engine/group.h"
#include "suite.h"

#define RIG_DISK	(3 << 20)

static u8 disk[PROT_WIDTH_MAX][RIG_DISK];
static u8 payload[2 << 20];	/* of requests: each from the byte that is its cookie */
static u64 broken, unreadable;	/* members whose I/O ends with -EIO, whose reads with -ENODATA */
static int (*rig_refuses)(const struct prot_event *ev);	/* an error of this one, or 0 */
static bool hold;		/* I/O does not end before let_go() */
static struct prot_event held[128];
static u32 nr_held;
static u64 rig_bytes;		/* of data on a member */
static void (*saw)(const struct prot_event *ev);	/* each I/O */
static u32 done;
static s32 last_err;
static u64 seen;		/* events, a bit each */

/* The group is erasure coded, in strips of what a private buffer has; one ring. */
static inline void rig_ec(struct prot_group_config *c, u8 k, u8 m)
{
	c->level = PROT_EC;
	c->width = k + m;
	c->k = k;
	c->m = m;
	c->strip = c->slot_bytes = c->buf_bytes;
	c->slot_head = 4096;
	c->rings = 1;
	c->slots = 8;
}

static void rig_end_io(struct prot_group *g, const struct prot_event *ev)
{
	u8 *at = disk[ev->io.member] + ev->io.addr, *buf = payload;

	int err = broken >> ev->io.member & 1 ? -EIO : 0;

	if (!err && ev->io.kind == PROT_READ && unreadable >> ev->io.member & 1)
		err = -ENODATA;
	if (!err && rig_refuses)
		err = rig_refuses(ev);
	if (err) {
		prot_group_result(g, ev->io.tag, err);
		return;
	}
	if (ev->io.kind == PROT_WRITE && ev->runs[0].buffer == PROT_BUFFER_ZERO) {
		memset(at, 0, ev->io.length);
		prot_group_result(g, ev->io.tag, 0);
		return;
	}
	if (ev->runs[0].buffer)
		buf = prot_group_buffer(g, ev->runs[0].buffer);
	buf += ev->runs[0].offset;
	if (ev->io.kind == PROT_READ)
		memcpy(buf, at, ev->io.length);
	else if (ev->io.kind == PROT_WRITE)
		memcpy(at, buf, ev->io.length);
	else
		memset(at, 0, ev->io.length);
	prot_group_result(g, ev->io.tag, 0);
}

static void rig_io(struct prot_group *g, const struct prot_event *ev)
{
	CU_ASSERT_FATAL(ev->io.addr + ev->io.length <= RIG_DISK);
	saw(ev);
	if (!hold) {
		rig_end_io(g, ev);
		return;
	}
	CU_ASSERT_FATAL(nr_held < ARRAY_SIZE(held));
	held[nr_held++] = *ev;
}

static void rig_work(struct prot_group *g, const struct prot_event *ev)
{
	static struct prot_map map;
	u8 *buf;

	if (ev->kind == PROT_EV_CODEC) {
		prot_group_codec(g, ev->op, &prot_codec_portable, &map, 0,
				 prot_group_codec_bytes(g, ev->op));
	} else {
		buf = (u8 *)prot_group_buffer(g, ev->copy.buffer) + ev->copy.offset;
		if (ev->copy.out)
			memcpy(payload + ev->cookie + ev->copy.request, buf, ev->copy.length);
		else
			memcpy(buf, payload + ev->cookie + ev->copy.request, ev->copy.length);
	}
	prot_group_result(g, ev->io.tag, 0);
}

static void run(struct prot_group *g)
{
	struct prot_event ev;
	u32 i;

	for (i = 0; i < 5000; i++) {
		prot_group_next(g, &ev);
		seen |= 1 << ev.kind;
		if (ev.kind == PROT_EV_NONE)
			return;
		if (ev.kind == PROT_EV_IO)
			rig_io(g, &ev);
		if (ev.kind == PROT_EV_COPY || ev.kind == PROT_EV_CODEC)
			rig_work(g, &ev);
		if (ev.kind == PROT_EV_DONE) {
			done++;
			last_err = ev.err;
		}
	}
	CU_FAIL_FATAL("runs in circles");
}

/* The @i-th of what is held back ends. */
static inline void rig_end_held(struct prot_group *g, u32 i)
{
	struct prot_event ev = held[i];

	held[i] = held[--nr_held];
	rig_end_io(g, &ev);
	run(g);
}

/* What is held back ends, and what follows from it is held back again. */
static inline void let_go(struct prot_group *g)
{
	struct prot_event now[ARRAY_SIZE(held)];
	u32 i, n = nr_held;

	memcpy(now, held, sizeof(now));
	nr_held = 0;
	for (i = 0; i < n; i++)
		rig_end_io(g, &now[i]);
	run(g);
}

/* Lay the members out: data behind the records, at once. Return: bytes of records on each. */
static inline u64 rig_members(struct prot_group_config *c)
{
	u64 meta = prot_group_meta_bytes(c);
	u32 i;

	for (i = 0; i < c->width; i++)
		c->data[i] = meta;
	return meta;
}

/* Attach, with nothing held back and no member broken. */
static struct prot_group *rig_start(const struct prot_group_config *c)
{
	struct prot_group *g;

	broken = unreadable = seen = done = nr_held = 0;
	hold = false;
	rig_bytes = c->bytes;
	g = prot_group_init(calloc(1, prot_group_bytes(c)), c);
	run(g);
	CU_ASSERT_EQUAL_FATAL(g->state, PROT_G_SERVING);
	return g;
}

/* Submit and run; 1: it waits. */
static inline s32 rig_request(struct prot_group *g, u8 kind, u64 addr, u32 length)
{
	u32 before = done;

	CU_ASSERT_FATAL(prot_group_submit(g, kind, 0, addr, length, 0) >= 0);
	run(g);
	return done == before + 1 ? last_err : 1;
}

#endif
