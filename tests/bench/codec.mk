# SPDX-License-Identifier: GPL-2.0-only
#
# make bench-codec: the codec's GB/s beside ISA-L's, on this machine, same
# buffers, one run. BENCH_CODEC_ARGS=--help lists what else it can do.

BENCH_CODEC_ARGS ?=

$(BUILD)/bench/codec: tests/bench/codec.c $(CODEC_OBJ) $(CODEC_HDR)
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -g -O2 -Wall -Wextra -Werror -Iuserspace/shim -I. -o $@ $< $(CODEC_OBJ) -lisal

bench-codec: $(BUILD)/bench/codec
	$(BUILD)/bench/codec $(BENCH_CODEC_ARGS)

.PHONY: bench-codec
