# SPDX-License-Identifier: GPL-2.0-only
# What single unit tests need beside the pure files.

# protect/codec.mk knows the x86 files and their flags; none on other machines.
UNIT_EXTRA_codec := $(CODEC_X86:%.c=$(BUILD)/unit/obj/%.o)
UNIT_LIBS_codec  := $(if $(CODEC_X86),-lisal)

$(BUILD)/unit/test_codec: $(UNIT_EXTRA_codec)
$(foreach f,$(CODEC_X86),$(eval $(BUILD)/unit/obj/$(f:.c=.o): SANITIZE += $(call codec_flags,$(f))))
