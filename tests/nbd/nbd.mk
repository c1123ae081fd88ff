# SPDX-License-Identifier: GPL-2.0-only
#
#   make check-nbd [TIER=long] [LEVELS="mirror:2 .."]   real programs on the policy, over
#                                                      files: fio, kills, a checker

NBD_PURE    := $(filter protect/%,$(pure-protect:%.o=%.c))
NBD_PLUGIN  := $(addprefix tests/nbd/,plugin.c volume.c pool.c control.c state.c)
NBD_HDR     := tests/nbd/volume.h tests/nbd/stamp.h $(wildcard driver/uapi/*.h protect/*.h protect/*/*.h userspace/shim/*/*.h)
NBD_CFLAGS  := -std=gnu11 -g -O2 -Wall -Wextra -Werror -I.
NBD_CODEC   := $(filter-out $(NBD_PURE),$(CODEC_SRC))
NBD_BIN     := $(addprefix $(BUILD)/nbd/,meshprot.so meshprot-mutants.so acked check-members)

# Separate objects: position independent, and once more with the mutants.
define nbd_rules
$(BUILD)/nbd/$(1)/%.o: %.c $(NBD_HDR)
	@mkdir -p $$(@D)
	$(CC) $(NBD_CFLAGS) -Iuserspace/shim -fPIC $(2) $$(call codec_flags,$$<) -c -o $$@ $$<

$(BUILD)/nbd/$(3): $$(patsubst %.c,$(BUILD)/nbd/$(1)/%.o,$(NBD_PURE) $(NBD_CODEC) $(NBD_PLUGIN))
	$(CC) -shared -o $$@ $$^ -lxxhash -lpthread
endef
$(eval $(call nbd_rules,obj,,meshprot.so))
$(eval $(call nbd_rules,obj-mutants,-DPROT_MUTANTS,meshprot-mutants.so))

$(BUILD)/nbd/acked: tests/nbd/acked.c tests/nbd/acklog.h tests/nbd/stamp.h
	@mkdir -p $(@D)
	$(CC) $(NBD_CFLAGS) -o $@ $< -lnbd

# No header of protect/, no shim: what it knows is from the documents.
$(BUILD)/nbd/check-members: tests/nbd/check-members.c tests/nbd/stamp.h
	@mkdir -p $(@D)
	$(CC) $(NBD_CFLAGS) -o $@ $<

nbd: $(NBD_BIN)

# Cases of the lab use it, too.
tools: $(BUILD)/nbd/check-members

check-nbd: $(NBD_BIN)
	@tests/nbd/run $(if $(TIER),$(TIER),check) $(BUILD)/nbd $(LEVELS)

.PHONY: nbd check-nbd
