# SPDX-License-Identifier: GPL-2.0-only
# What single unit tests need beside the pure files.

# protect/codec.mk knows the x86 files and their flags; none on other machines.
UNIT_EXTRA_codec := $(CODEC_X86:%.c=$(BUILD)/unit/obj/%.o)
UNIT_LIBS_codec  := $(if $(CODEC_X86),-lisal)

$(BUILD)/unit/test_codec: $(UNIT_EXTRA_codec)
$(foreach f,$(CODEC_X86),$(eval $(BUILD)/unit/obj/$(f:.c=.o): SANITIZE += $(call codec_flags,$(f))))

# meshd's links: threads, sockets and TLS, with the rest of meshd left out.
LINK_SRC         := $(wildcard userspace/meshd/link*.c) userspace/meshd/util.c
UNIT_EXTRA_link  := $(LINK_SRC:%.c=$(BUILD)/unit/obj/%.o)
UNIT_LIBS_link   := -lgnutls -lpthread
UNIT_CFLAGS_link := -D_GNU_SOURCE
S390X_SKIP       += tests/unit/test_link.c

$(BUILD)/unit/test_link: $(UNIT_EXTRA_link)
$(UNIT_EXTRA_link): UNIT_CFLAGS += -D_GNU_SOURCE
$(UNIT_EXTRA_link): $(wildcard userspace/meshd/*.h)
