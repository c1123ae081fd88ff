# SPDX-License-Identifier: GPL-2.0-only
#
# Unit tests: each test_NAME.c is its own program, linked with the pure
# files and the userspace formats that it uses, under ASan and UBSan. `check-unit` runs
# them; `check-s390x` runs some on a big-endian machine (qemu-user), because every
# format is little endian and a mistake is not noticed on x86; `check-arm64` compiles.

UNIT_SRC  := $(wildcard tests/unit/test_*.c)
UNIT_BIN  := $(UNIT_SRC:tests/unit/%.c=$(BUILD)/unit/%)
PURE_SRC  := $(patsubst %.o,%.c,$(pure-protect) $(pure-rdda) $(pure-target) $(pure-driver))
# A program has one table of verbs: the other one, verbs_one.c, instead of verbs.c.
FMT_SRC   := $(filter-out %/verbs_one.c,$(wildcard userspace/format/*.c))
PURE_HDR  := $(wildcard driver/access.h driver/states.h driver/uapi/*.h rdda/*.h rdda/target/state.h protect/*.h protect/*/*.h userspace/format/*.h userspace/plan/*.h userspace/store/*.h userspace/shim/*/*.h)

# Tests about bytes: formats, records, labels, messages, the codec, and what writes and reads them
# through a group. No other test runs on s390x; these need no library but what is in portable/.
S390X_TEST := codec codec_map docs geometry label layout link_frame prot prot_ec prot_group \
	prot_record prot_roster proof restore umap wire wire_open

UNIT_CFLAGS := -std=gnu11 -g -O1 -Wall -Wextra -Werror -DPROT_COUNT -Iuserspace/shim -I.
SANITIZE    := -fsanitize=address,undefined -fno-sanitize-recover=all

# The codec's x86 files are no pure files: the tests that want them say so here.
UNIT_EXTRA =
-include tests/unit/extra.mk
UNIT_LIBS_local = -lpthread
UNIT_LIBS_busy = -lpthread
UNIT_LIBS_abandoned = -lpthread
UNIT_LIBS_hook = -lpthread
UNIT_LIBS_spare = -lpthread
UNIT_LIBS_drive = -lpthread
UNIT_LIBS_records = -lpthread
UNIT_LIBS_take = -lpthread -lnvme
UNIT_LIBS_export = -lpthread
UNIT_LIBS_probe = -lnvme
UNIT_LIBS_peers = -lpthread
UNIT_LIBS_unexport = -lpthread -lnvme
UNIT_LIBS_zero = -lpthread
UNIT_LIBS_rescan = -lpthread -ludev
UNIT_LIBS_serve = -lpthread
UNIT_CFLAGS_show = -I/usr/include/libnl3
UNIT_LIBS_show = -lnl-genl-3 -lnl-3 -lkeyutils -lpthread
UNIT_LIBS_identity = -lpthread
UNIT_LIBS_control = -lpthread
UNIT_LIBS_start = -lpthread -lsystemd

define pure_objs
$(patsubst %.c,$(BUILD)/$(1)/%.o,$(PURE_SRC) $(FMT_SRC))
endef

$(BUILD)/unit/obj/%.o: %.c $(PURE_HDR)
	@mkdir -p $(@D)
	$(CC) $(UNIT_CFLAGS) $(SANITIZE) -c -o $@ $<

# An archive: a program is linked with what it uses, which is a fraction of all.
$(BUILD)/unit/pure.a: $(call pure_objs,unit/obj)
	@rm -f $@
	ar rcs $@ $^

# Compiled and linked apart: a compiler cache knows objects only.
$(BUILD)/unit/test_%.o: tests/unit/test_%.c $(PURE_HDR)
	@mkdir -p $(@D)
	$(CC) $(UNIT_CFLAGS) $(SANITIZE) $(UNIT_CFLAGS_$*) -c -o $@ $<

$(BUILD)/unit/test_%: $(BUILD)/unit/test_%.o $(BUILD)/unit/pure.a
	$(CC) $(SANITIZE) $(UNIT_LDFLAGS_$*) -o $@ $< $(UNIT_EXTRA_$*) $(BUILD)/unit/pure.a \
		-lcunit -lxxhash -ljansson $(UNIT_LIBS_$*) -lgnutls

# Those that no big-endian machine runs include files of meshd, or could.
$(filter-out $(S390X_TEST:%=$(BUILD)/unit/test_%.o),$(UNIT_BIN:=.o)): $(wildcard userspace/meshd/*.[ch] userspace/meshctl/*.[ch] userspace/libmesh/grow.c tests/unit/*_rig.h)

unit: $(UNIT_BIN)

# The longest first: none of them is left alone at the end.
UNIT_LONG := $(addprefix $(BUILD)/unit/test_,truth_replace store_link_faults etcd_faults etcd_cluster link_strangers objects)

check-unit: unit
	@tests/unit/run $(UNIT_LONG) $(filter-out $(UNIT_LONG),$(UNIT_BIN)) tests/lab/flake-check

# Big endian, static, without sanitizers (qemu-user has none): pure files only,
# with a stand-in for CUnit's few macros, since Debian has no CUnit for s390x.
S390X_CC  := s390x-linux-gnu-gcc
S390X_BIN := $(S390X_TEST:%=$(BUILD)/s390x/test_%)

$(BUILD)/s390x/obj/%.o: %.c $(PURE_HDR)
	@mkdir -p $(@D)
	$(S390X_CC) $(UNIT_CFLAGS) -Itests/unit/portable -c -o $@ $<

# The formats that need no library are tried there too.
FMT_PURE := $(addprefix userspace/format/,uuid.c label.c layout.c layout_text.c link_frame.c place.c place_groups.c size.c machine.c \
	conf.c printable.c twin.c umap.c restore.c truth.c)

$(BUILD)/s390x/pure.a: $(patsubst %.c,$(BUILD)/s390x/obj/%.o,$(PURE_SRC) $(FMT_PURE))
	@rm -f $@
	s390x-linux-gnu-ar rcs $@ $^

$(BUILD)/s390x/test_%.o: tests/unit/test_%.c $(PURE_HDR)
	@mkdir -p $(@D)
	$(S390X_CC) $(UNIT_CFLAGS) -Itests/unit/portable -c -o $@ $<

$(BUILD)/s390x/test_%: $(BUILD)/s390x/test_%.o $(BUILD)/s390x/pure.a
	$(S390X_CC) -static -o $@ $^

check-s390x: $(S390X_BIN)
	@RUNNER=qemu-s390x tests/unit/run $(S390X_BIN)

check-arm64:
	@for f in $(PURE_SRC); do aarch64-linux-gnu-gcc $(UNIT_CFLAGS) -Itests/unit/portable -fsyntax-only $$f || exit 1; done
	@echo "arm64: $(words $(PURE_SRC)) pure files compile"

.PHONY: unit check-unit check-s390x check-arm64
.SECONDARY:
