/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What plugin.c uses of QEMU's plugin interface, version 1 (QEMU 7.2's
 * include/qemu/qemu-plugin.h, which Debian 12 does not package).
 */
#ifndef PROFILE_PLUGIN_H
#define PROFILE_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QEMU_API	1
#define QEMU_EXPORT	__attribute__((visibility("default")))

typedef uint64_t qemu_plugin_id_t;
typedef uint32_t qemu_plugin_meminfo_t;

typedef struct {
	const char *target_name;
	struct {
		int min, cur;
	} version;
	bool system_emulation;
	int smp_vcpus, max_vcpus;
} qemu_info_t;

struct qemu_plugin_tb;
struct qemu_plugin_insn;

enum { QEMU_PLUGIN_CB_NO_REGS };
enum { QEMU_PLUGIN_MEM_RW = 3 };

typedef void (*qemu_exec_cb)(unsigned int vcpu, void *data);
typedef void (*qemu_mem_cb)(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr,
			    void *data);

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
					   void (*cb)(qemu_plugin_id_t, struct qemu_plugin_tb *));
void qemu_plugin_register_flush_cb(qemu_plugin_id_t id, void (*cb)(qemu_plugin_id_t));
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, qemu_exec_cb cb, int flags,
					  void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, qemu_exec_cb cb,
					    int flags, void *data);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, qemu_mem_cb cb, int flags,
				      int rw, void *data);

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t n);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);

#endif
