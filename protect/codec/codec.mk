# SPDX-License-Identifier: GPL-2.0-only
#
# The codec for userspace programs: CODEC_OBJ is all of it, optimised and
# without sanitizers, with the x86 implementations where the compiler targets
# x86-64. Those have the flags of their instruction
# set, and -O3 since -O2 leaves some unrolled sums in memory; so, also where another
# rule compiles them: codec_flags, by source file.

CODEC_X86 := $(if $(filter x86_64%,$(shell $(CC) -dumpmachine 2>/dev/null)),$(wildcard protect/codec/codec_x86*.c))
CODEC_SRC := protect/codec/gf256.c protect/codec/codec.c protect/codec/codec_portable.c protect/codec/codec_select.c userspace/codec.c $(CODEC_X86)
CODEC_OBJ := $(CODEC_SRC:%.c=$(BUILD)/codec/%.o)
CODEC_HDR := $(wildcard protect/codec/*.h userspace/codec.h)

codec-flags-protect/codec/codec_x86_ssse3.c       := -O3 -mssse3
codec-flags-protect/codec/codec_x86_avx2.c        := -O3 -mavx2
codec-flags-protect/codec/codec_x86_gfni_avx2.c   := -O3 -mavx2 -mgfni
codec-flags-protect/codec/codec_x86_gfni_avx512.c := -O3 -mavx512bw -mgfni
codec_flags = $(codec-flags-$(1))

$(BUILD)/codec/%.o: %.c $(CODEC_HDR)
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -g -O2 -Wall -Wextra -Werror -Iuserspace/shim -I. $(call codec_flags,$<) -c -o $@ $<
