# SPDX-License-Identifier: GPL-2.0-only
#
# libFuzzer programs, one per parser of foreign bytes. `check-fuzz` gives each
# FUZZ_SECONDS; a crash leaves its input in build/fuzz/.

FUZZ_SRC := $(wildcard tests/fuzz/fuzz_*.c)
FUZZ_BIN := $(FUZZ_SRC:tests/fuzz/%.c=$(BUILD)/fuzz/%)
FUZZ_SECONDS ?= 10

FUZZ_CC   := clang -std=gnu11 -g -O1 -Wall -Wextra -Werror -Iuserspace/shim -I. \
	     -fno-sanitize-recover=all

$(BUILD)/fuzz/obj/%.o: %.c $(PURE_HDR)
	@mkdir -p $(@D)
	$(FUZZ_CC) -fsanitize=fuzzer-no-link,address,undefined -c -o $@ $<

$(BUILD)/fuzz/fuzz_%: tests/fuzz/fuzz_%.c $(call pure_objs,fuzz/obj) $(PURE_HDR)
	@mkdir -p $(@D)
	$(FUZZ_CC) $(FUZZ_CFLAGS_$*) -fsanitize=fuzzer,address,undefined -o $@ $(filter %.c %.o,$^) \
		-lxxhash -ljansson -lgnutls

# No formats: they are linked for their fuzzers alone.
$(BUILD)/fuzz/fuzz_store_wire: $(BUILD)/fuzz/obj/userspace/store/link_wire.o
$(BUILD)/fuzz/fuzz_objects: $(addprefix $(BUILD)/fuzz/obj/userspace/store/,rights.o rights_rules.o) \
	$(wildcard tests/unit/*_rig.h)
# It makes its values as unit tests do, with a stand-in for CUnit.
FUZZ_CFLAGS_objects := -Itests/unit/portable
$(BUILD)/fuzz/fuzz_etcd_grpc: $(addprefix $(BUILD)/fuzz/obj/userspace/store/,et_grpc.o et_verdict.o)

fuzz: $(FUZZ_BIN)

check-fuzz: fuzz
	@tests/fuzz/run $(FUZZ_SECONDS) $(FUZZ_BIN)

.PHONY: fuzz check-fuzz
