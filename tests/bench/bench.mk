# SPDX-License-Identifier: GPL-2.0-only
#
# make bench: Meshblk beside nvme-rdma, and with LEVEL=mirror:2 (or several, by commas) a level
# with redundancy beside md over nvme-rdma; one guest a level, virtual time that counts
# instructions (docs/bench.md). Tables are printed, what was measured stays in BENCH_OUT.

BENCH_ARGS ?=
BENCH_OUT  ?= $(BUILD)/bench
LEVEL      ?=
ROWS       ?=

bench-comma := ,
bench-lab   := tests/lab/lab run --kernel 6.12 --icount --cpus 1 --mem 6G --timeout 10800 \
	--results

bench: deps
ifeq ($(LEVEL),)
	$(bench-lab) $(BENCH_OUT)/plain tests/bench/compare --rows '$(ROWS)' $(BENCH_ARGS)
else
	set -e; for level in $(subst $(bench-comma), ,$(LEVEL)); do \
		$(bench-lab) $(BENCH_OUT)/$$level tests/bench/level $$level --rows '$(ROWS)' $(BENCH_ARGS); done
endif

-include tests/bench/codec.mk
-include tests/bench/profile/profile.mk

.PHONY: bench
