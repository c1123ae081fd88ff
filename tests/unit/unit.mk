# SPDX-License-Identifier: GPL-2.0-only
#
# Unit tests: each test_NAME.c is its own program, linked with all pure
# files and the userspace formats, under ASan and UBSan. `check-unit` runs them;
# `check-s390x` runs the same on a big-endian machine (qemu-user), because every
# format is little endian and a mistake is not noticed on x86; `check-arm64` compiles.

UNIT_SRC  := $(wildcard tests/unit/test_*.c)
UNIT_BIN  := $(UNIT_SRC:tests/unit/%.c=$(BUILD)/unit/%)
PURE_SRC  := $(patsubst %.o,%.c,$(pure-protect) $(pure-rdda) $(pure-target) $(pure-driver))
FMT_SRC   := $(wildcard userspace/format/*.c)
PURE_HDR  := $(wildcard driver/states.h driver/uapi/*.h rdda/*.h rdda/target/state.h protect/*.h userspace/format/*.h userspace/shim/*/*.h)

UNIT_CFLAGS := -std=gnu11 -g -O1 -Wall -Wextra -Werror -DPROT_COUNT -Iuserspace/shim -I.
SANITIZE    := -fsanitize=address,undefined -fno-sanitize-recover=all

# The codec's x86 files are no pure files: the tests that want them say so here.
UNIT_EXTRA =
-include tests/unit/extra.mk
# JSON: no library for s390x.
S390X_SKIP += tests/unit/test_mgmt.c tests/unit/test_verbs.c
# Files of meshd, which include it.
S390X_SKIP += tests/unit/test_label_io.c tests/unit/test_record_put.c tests/unit/test_drive.c
S390X_SKIP += tests/unit/test_take.c tests/unit/test_export.c tests/unit/test_probe.c tests/unit/test_peers.c
S390X_SKIP += tests/unit/test_unexport.c tests/unit/test_zero.c tests/unit/test_below.c
S390X_SKIP += tests/unit/test_backup.c tests/unit/test_rescan.c tests/unit/test_restore_label.c
S390X_SKIP += tests/unit/test_orphan.c tests/unit/test_gather.c tests/unit/test_free.c tests/unit/test_identity.c
S390X_SKIP += tests/unit/test_records.c tests/unit/test_serve.c tests/unit/test_busy.c
S390X_SKIP += tests/unit/test_rdma.c tests/unit/test_show.c tests/unit/test_control.c tests/unit/test_start.c
S390X_SKIP += tests/unit/test_hook.c tests/unit/test_watch.c tests/unit/test_spare.c tests/unit/test_noted.c tests/unit/test_commit.c tests/unit/test_local.c tests/unit/test_evict.c tests/unit/test_changes.c tests/unit/test_abandoned.c
# A search of minutes, of a model that has no bytes: test_truth tries the decisions there.
S390X_SKIP += tests/unit/test_truth_replace.c
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
UNIT_LIBS_show = -lnl-genl-3 -lnl-3 -lpthread
UNIT_LIBS_identity = -lpthread
UNIT_LIBS_control = -lpthread
UNIT_LIBS_start = -lpthread -lsystemd

define pure_objs
$(patsubst %.c,$(BUILD)/$(1)/%.o,$(PURE_SRC) $(FMT_SRC))
endef

$(BUILD)/unit/obj/%.o: %.c $(PURE_HDR)
	@mkdir -p $(@D)
	$(CC) $(UNIT_CFLAGS) $(SANITIZE) -c -o $@ $<

$(BUILD)/unit/test_%: tests/unit/test_%.c $(call pure_objs,unit/obj) $(PURE_HDR)
	@mkdir -p $(@D)
	$(CC) $(UNIT_CFLAGS) $(SANITIZE) $(UNIT_CFLAGS_$*) -o $@ $< $(UNIT_EXTRA_$*) $(call pure_objs,unit/obj) \
		-lcunit -lxxhash -ljansson $(UNIT_LIBS_$*)

# Those that no big-endian machine runs include files of meshd, or could.
$(S390X_SKIP:tests/unit/%.c=$(BUILD)/unit/%): $(wildcard userspace/meshd/*.[ch] userspace/meshctl/*.[ch] userspace/libmesh/grow.c tests/unit/*_rig.h)

unit: $(UNIT_BIN)

check-unit: unit
	@tests/unit/run $(UNIT_BIN)

# Big endian, static, without sanitizers (qemu-user has none): pure files only,
# with a stand-in for CUnit's few macros, since Debian has no CUnit for s390x.
S390X_CC  := s390x-linux-gnu-gcc
S390X_BIN := $(patsubst tests/unit/test_%.c,$(BUILD)/s390x/test_%,$(filter-out $(S390X_SKIP),$(UNIT_SRC)))

$(BUILD)/s390x/obj/%.o: %.c $(PURE_HDR)
	@mkdir -p $(@D)
	$(S390X_CC) $(UNIT_CFLAGS) -Itests/unit/portable -c -o $@ $<

# The formats that need no library are tried there too.
FMT_PURE := $(addprefix userspace/format/,uuid.c label.c layout.c layout_text.c link_frame.c place.c place_groups.c size.c machine.c \
	conf.c printable.c twin.c umap.c restore.c truth.c)
S390X_OBJ = $(patsubst %.c,$(BUILD)/s390x/obj/%.o,$(PURE_SRC) $(FMT_PURE))

$(BUILD)/s390x/test_%: tests/unit/test_%.c $(patsubst %.c,$(BUILD)/s390x/obj/%.o,$(PURE_SRC) $(FMT_PURE)) $(PURE_HDR)
	@mkdir -p $(@D)
	$(S390X_CC) $(UNIT_CFLAGS) -Itests/unit/portable -static -o $@ $< $(S390X_OBJ)

check-s390x: $(S390X_BIN)
	@RUNNER=qemu-s390x tests/unit/run $(S390X_BIN)

check-arm64:
	@for f in $(PURE_SRC); do aarch64-linux-gnu-gcc $(UNIT_CFLAGS) -Itests/unit/portable -fsyntax-only $$f || exit 1; done
	@echo "arm64: $(words $(PURE_SRC)) pure files compile"

.PHONY: unit check-unit check-s390x check-arm64
.SECONDARY:
