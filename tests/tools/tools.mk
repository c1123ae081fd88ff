# SPDX-License-Identifier: GPL-2.0-only
#
# Test tools: one program a file or folder, in build/bin.
tools-c := $(wildcard tests/tools/*.c)
tools-bin := $(tools-c:tests/tools/%.c=$(BUILD)/bin/%) $(BUILD)/bin/blkctl
TOOLS_FLAGS = -O2 -g -Wall -Wextra -Werror -I. $(shell pkg-config --cflags libnl-genl-3.0 jansson)
TOOLS_LIBS  = $(shell pkg-config --libs libnl-genl-3.0 jansson) -lkeyutils

$(BUILD)/bin/%: tests/tools/%.c tests/tools/secret.h driver/uapi/meshblk.h
	@mkdir -p $(@D)
	$(CC) $(TOOLS_FLAGS) -o $@ $< $(TOOLS_LIBS)

BLKCTL_SRC := $(wildcard tests/tools/blkctl/*.c)

$(BUILD)/bin/blkctl: $(BLKCTL_SRC) tests/tools/blkctl/blkctl.h tests/tools/secret.h driver/uapi/meshblk.h
	@mkdir -p $(@D)
	$(CC) $(TOOLS_FLAGS) -o $@ $(BLKCTL_SRC) $(TOOLS_LIBS)

# With meshd's own link: a peer that says what it likes.
MGMTCTL_SRC := tests/tools/mgmtctl.c $(wildcard userspace/meshd/link*.c) userspace/meshd/util.c userspace/machine/line.c \
	userspace/format/link_frame.c userspace/format/uuid.c

$(BUILD)/bin/mgmtctl: $(MGMTCTL_SRC) $(USER_HDR)
	@mkdir -p $(@D)
	$(CC) $(USER_FLAGS) $(USER_CFLAGS) -o $@ $(MGMTCTL_SRC) -lgnutls -lpthread

# With the formats alone: what it makes is what meshd must be able to read.
MKDRIVES_SRC := tests/tools/mkdrives.c $(addprefix userspace/format/,label.c layout.c layout_text.c uuid.c) $(LAYOUT_SRC)

$(BUILD)/bin/mkdrives: $(MKDRIVES_SRC) $(USER_HDR)
	@mkdir -p $(@D)
	$(CC) $(USER_FLAGS) $(USER_CFLAGS) -o $@ $(MKDRIVES_SRC) -lxxhash

tools: $(tools-bin)

.PHONY: tools
