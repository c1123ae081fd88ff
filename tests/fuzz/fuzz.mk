# SPDX-License-Identifier: GPL-2.0-only
#
# libFuzzer programs, one per parser of foreign bytes. `check-fuzz` gives each
# FUZZ_SECONDS; a crash leaves its input in build/fuzz/.

FUZZ_SRC := $(wildcard tests/fuzz/fuzz_*.c)
FUZZ_BIN := $(FUZZ_SRC:tests/fuzz/%.c=$(BUILD)/fuzz/%)
FUZZ_SECONDS ?= 10

$(BUILD)/fuzz/fuzz_%: tests/fuzz/fuzz_%.c $(PURE_SRC) $(FMT_SRC) $(PURE_HDR)
	@mkdir -p $(@D)
	clang -std=gnu11 -g -O1 -Wall -Wextra -Werror -Iuserspace/shim -I. \
		-fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
		-o $@ $< $(PURE_SRC) $(FMT_SRC) -lxxhash -ljansson

fuzz: $(FUZZ_BIN)

check-fuzz: fuzz
	@tests/fuzz/run $(FUZZ_SECONDS) $(FUZZ_BIN)

.PHONY: fuzz check-fuzz
