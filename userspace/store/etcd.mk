# SPDX-License-Identifier: GPL-2.0-only
#
# The etcd engine of the cluster store: its files, and its messages as C, which protoc-c makes.
# No program has it so far.

GEN      := $(BUILD)/gen
ETCD_SRC := $(wildcard userspace/store/et_*.c) userspace/store/etcd.c
ETCD_GEN := $(GEN)/userspace/store/etcd.pb-c.c

$(ETCD_GEN): userspace/store/etcd.proto
	@mkdir -p $(GEN)
	protoc-c --c_out=$(GEN) $<
