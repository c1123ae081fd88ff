# SPDX-License-Identifier: GPL-2.0-only
#
#   make                 both kernel modules (for KDIR) and userspace
#   make demo            the main job, in a guest: volume, file system, fio
#   make check           lint, unit tests, lab on both kernels (STAGES="build lint unit": these alone)
#   make check-full      the same with the large numbers, and on a kernel with KASAN and lockdep
#   make check-nbd       fio and kills on the protection policy, over files
#   make check-debug     the lab's cases on a kernel with KASAN and lockdep
#   make bench           Meshblk beside nvme-rdma, in a guest (docs/bench.md)
#   make profile         instructions of each request, in a guest (docs/lab.md)
#   make sim             the protection policy under random schedules (tests/sim/sim.mk)
#   make install         modules, programs, units, man pages (as root)
#   make uninstall       the inverse; the state folder stays
#   make clean           remove build/
#
# Everything that is built lands below build/; build/KERNEL/ per kernel.

KREL  ?= $(shell uname -r)
KDIR  ?= /lib/modules/$(KREL)/build
TOP   := $(CURDIR)
BUILD ?= $(TOP)/build

include Kbuild			# for the pure-* lists, the one place they live

# Kbuild has rules of its own, and the first rule is what a bare make does.
.DEFAULT_GOAL := all
all: modules userspace

# The release that KDIR would build modules for; it names the build folder.
kdir-release = $(shell sed -n 's/.*UTS_RELEASE "\(.*\)"/\1/p' $(KDIR)/include/generated/utsrelease.h 2>/dev/null)
# FAULTS=1: with the fault points of rdda/common/fault.h, for tests only.
KBUILDDIR = $(BUILD)/$(kdir-release)$(if $(FAULTS),-faults)

# An out-of-tree module build writes beside its sources, so each kernel gets a
# folder of links to them: two kernels never share an object. Two makes do, by
# hand and by the lab, say: one waits for the other.
modules:
	@test -n "$(kdir-release)" || { echo "no kernel build tree at $(KDIR): as root, apt-get install linux-headers-$(KREL), or pass KDIR= or KREL="; exit 1; }
	@mkdir -p $(KBUILDDIR)
	$(if $(FAULTS),@flock $(KBUILDDIR)/.lock tests/lab/seed-faults $(BUILD)/$(kdir-release) $(KBUILDDIR))
	@flock $(KBUILDDIR)/.lock $(MAKE) --no-print-directory modules-alone

modules-alone:
	@cd $(TOP) && find Kbuild driver rdda protect $(wildcard tests/kmod) -type f \( -name '*.[chS]' -o -name 'Kbuild' -o -name '*.sh' \) | while read -r f; do \
		mkdir -p $(KBUILDDIR)/$$(dirname $$f); ln -sfn $(TOP)/$$f $(KBUILDDIR)/$$f; done
	$(MAKE) -C $(KDIR) M=$(KBUILDDIR) $(KFLAGS) $(if $(FAULTS),MESH_FAULTS=y) modules

help:
	@sed -n 's/^#   make/make/p' $(TOP)/Makefile

include protect/codec/codec.mk
include userspace/store/etcd.mk
include tests/unit/unit.mk
include tests/fuzz/fuzz.mk
-include userspace/build.mk
-include tests/tools/tools.mk
-include tests/sim/sim.mk
-include tests/nbd/nbd.mk
-include tests/bench/bench.mk
-include tests/lab/lab.mk
-include tests/lint/lint.mk
-include tests/demo/demo.mk

clean:
	rm -rf $(BUILD)

.PHONY: all help modules modules-alone userspace clean

# What the whole needs, as Debian packages by name: tests/packages.
deps:
	@tests/deps

check: deps
	@tests/check check $(STAGES)

check-full: deps
	@tests/check full $(STAGES)

.PHONY: deps check check-full
