# SPDX-License-Identifier: GPL-2.0-only
#
# Test tools: one program a file, in build/bin.
tools-c := $(wildcard tests/tools/*.c)
tools-bin := $(tools-c:tests/tools/%.c=$(BUILD)/bin/%)

$(BUILD)/bin/%: tests/tools/%.c driver/uapi/meshblk.h
	@mkdir -p $(@D)
	$(CC) -O2 -g -Wall -Wextra -Werror -I. $(shell pkg-config --cflags libnl-genl-3.0 jansson) \
		-o $@ $< $(shell pkg-config --libs libnl-genl-3.0 jansson)

tools: $(tools-bin)

.PHONY: tools
