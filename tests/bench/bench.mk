# SPDX-License-Identifier: GPL-2.0-only
#
# make bench: 4K and 128K rows of Meshblk and nvme-rdma, one guest, one run,
# virtual time that counts instructions (docs/lab.md).

BENCH_ARGS ?=

bench: deps
	tests/lab/lab run --kernel 6.12 --icount --cpus 1 --mem 3G --timeout 3000 \
		tests/bench/compare $(BENCH_ARGS)

-include tests/bench/codec.mk
-include tests/bench/profile/profile.mk

.PHONY: bench
