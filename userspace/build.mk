# SPDX-License-Identifier: GPL-2.0-only
#
# make userspace: meshd and meshctl in build/bin; the same meshd with its
# crash points in build/test-bin, for the lab alone.
# make install, uninstall: everything a host needs, below DESTDIR and PREFIX.

PREFIX  ?= /usr
SBINDIR ?= $(PREFIX)/sbin
MANDIR  ?= $(PREFIX)/share/man
COMPDIR ?= $(PREFIX)/share/bash-completion/completions
UDEVDIR ?= /lib/udev/rules.d
UNITDIR ?= /lib/systemd/system
DOCDIR  ?= $(PREFIX)/share/doc/meshblk

USER_CFLAGS ?= -O2 -g
USER_FLAGS := -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -fstack-protector-strong \
	-Iuserspace/shim -I. -I/usr/include/libnl3

LIBMESH_SRC := $(wildcard userspace/libmesh/*.c)
# What judges layouts, here and in the kernel.
LAYOUT_SRC  := $(pure-protect:.o=.c)
MESHD_SRC   := $(wildcard userspace/meshd/*.c userspace/machine/*.c) $(LIBMESH_SRC) $(FMT_SRC) $(LAYOUT_SRC)
MESHCTL_SRC := $(wildcard userspace/meshctl/*.c) $(addprefix userspace/format/,size.c \
	printable.c layout_text.c uuid.c verbs.c verbs_check.c)
MESHD_LIBS  := -lgnutls -lnl-genl-3 -lnl-3 -lsqlite3 -ljansson -lkmod -lblkid -lnvme -libverbs -lxxhash \
	-lsystemd -ludev -lkeyutils -lpthread
USER_HDR    := $(wildcard userspace/*/*.h userspace/shim/*/*.h driver/uapi/*.h protect/*.h protect/*/*.h rdda/wire.h)

MESHD_OBJ   := $(MESHD_SRC:%.c=$(BUILD)/user/%.o)
MESHCTL_OBJ := $(MESHCTL_SRC:%.c=$(BUILD)/user/%.o)
CRASH_OBJ   := $(MESHD_SRC:%.c=$(BUILD)/user-crash/%.o)

$(BUILD)/user/%.o: %.c $(USER_HDR) | user-libs
	@mkdir -p $(@D)
	$(CC) $(USER_FLAGS) $(USER_CFLAGS) -c -o $@ $<

$(BUILD)/user-crash/%.o: %.c $(USER_HDR) | user-libs
	@mkdir -p $(@D)
	$(CC) $(USER_FLAGS) $(USER_CFLAGS) -DMESHD_CRASH_POINTS -c -o $@ $<

$(BUILD)/bin/meshd: $(MESHD_OBJ)
	@mkdir -p $(@D)
	$(CC) $(USER_CFLAGS) $(LDFLAGS) -o $@ $^ $(MESHD_LIBS)

$(BUILD)/test-bin/meshd: $(CRASH_OBJ)
	@mkdir -p $(@D)
	$(CC) $(USER_CFLAGS) $(LDFLAGS) -o $@ $^ $(MESHD_LIBS)

$(BUILD)/bin/meshctl: $(MESHCTL_OBJ)
	@mkdir -p $(@D)
	$(CC) $(USER_CFLAGS) $(LDFLAGS) -o $@ $^ -ljansson

userspace: $(BUILD)/bin/meshd $(BUILD)/bin/meshctl $(BUILD)/test-bin/meshd

# What the programs are linked with: said in one line rather than by a compiler.
USER_HEADERS := netlink/genl/genl.h sqlite3.h jansson.h libkmod.h blkid/blkid.h libnvme.h \
	infiniband/verbs.h xxhash.h gnutls/gnutls.h systemd/sd-daemon.h libudev.h keyutils.h curl/curl.h \
	protobuf-c/protobuf-c.h
USER_DEBS := libnl-genl-3-dev libsqlite3-dev libjansson-dev libkmod-dev libblkid-dev \
	libnvme-dev libibverbs-dev libxxhash-dev libgnutls28-dev libsystemd-dev libudev-dev libkeyutils-dev \
	libcurl4-gnutls-dev libprotobuf-c-dev protobuf-c-compiler

user-libs:
	@for h in $(USER_HEADERS); do echo "#include <$$h>"; done | \
		$(CC) $(USER_FLAGS) -E -x c - >/dev/null 2>&1 || { echo "headers of libraries are" \
		"missing: as root, apt-get install build-essential $(USER_DEBS)"; exit 1; }

# The product's two modules, not the tests' that are built beside them.
MODDIR = /lib/modules/$(kdir-release)/updates
MODULES := meshblk.ko meshtgt.ko

# For those who run it; what is about the code stays with the code.
INSTALL_DOCS := $(addprefix docs/,operations.md sysfs.md protection.md scaling.md untested.md)

install: modules userspace
	install -d $(DESTDIR)$(MODDIR)
	install -m 644 $(addprefix $(KBUILDDIR)/,$(MODULES)) $(DESTDIR)$(MODDIR)
	strip --strip-debug $(addprefix $(DESTDIR)$(MODDIR)/,$(MODULES))
	$(if $(DESTDIR),,depmod $(kdir-release))
	install -D -m 755 $(BUILD)/bin/meshd $(DESTDIR)$(SBINDIR)/meshd
	install -D -m 755 $(BUILD)/bin/meshctl $(DESTDIR)$(SBINDIR)/meshctl
	install -d $(DESTDIR)$(MANDIR)/man8
	for page in meshd.8 meshctl.8; do \
		sed 's,/usr/share/doc/meshblk,$(DOCDIR),' userspace/man/$$page \
			>$(DESTDIR)$(MANDIR)/man8/$$page || exit 1; done
	install -D -m 644 userspace/udev/60-meshblk.rules $(DESTDIR)$(UDEVDIR)/60-meshblk.rules
	install -d $(DESTDIR)$(UNITDIR)
	sed 's,/usr/sbin/,$(SBINDIR)/,' userspace/systemd/meshd.service >$(DESTDIR)$(UNITDIR)/meshd.service
	sed 's,/usr/sbin/,$(SBINDIR)/,' userspace/systemd/meshblk-scrub.service \
		>$(DESTDIR)$(UNITDIR)/meshblk-scrub.service
	install -m 644 userspace/systemd/meshblk-scrub.timer $(DESTDIR)$(UNITDIR)/meshblk-scrub.timer
	install -D -m 644 userspace/completion/meshctl $(DESTDIR)$(COMPDIR)/meshctl
	install -d $(DESTDIR)$(DOCDIR)
	install -m 644 $(INSTALL_DOCS) $(DESTDIR)$(DOCDIR)
	@$(if $(DESTDIR),,udevadm control --reload 2>/dev/null || true; systemctl daemon-reload 2>/dev/null || true)
	@echo "installed for $(kdir-release)$(if $(DESTDIR),; below $(DESTDIR),; start it with: systemctl enable --now meshd)"

# What install put there, for whatever kernels; /var/lib/meshd with host UUID
# and store stays. Volumes that are attached stay until they are detached.
uninstall:
	@$(if $(DESTDIR),,systemctl disable --now meshd meshblk-scrub.timer 2>/dev/null || true)
	rm -f $(DESTDIR)$(SBINDIR)/meshd $(DESTDIR)$(SBINDIR)/meshctl \
		$(DESTDIR)$(MANDIR)/man8/meshd.8 $(DESTDIR)$(MANDIR)/man8/meshctl.8 \
		$(DESTDIR)$(UDEVDIR)/60-meshblk.rules $(DESTDIR)$(UNITDIR)/meshd.service \
		$(DESTDIR)$(UNITDIR)/meshblk-scrub.service $(DESTDIR)$(UNITDIR)/meshblk-scrub.timer \
		$(DESTDIR)$(COMPDIR)/meshctl $(addprefix $(DESTDIR)$(DOCDIR)/,$(notdir $(INSTALL_DOCS)))
	@rmdir --ignore-fail-on-non-empty $(DESTDIR)$(DOCDIR) 2>/dev/null || true
	@for d in $(DESTDIR)/lib/modules/*/updates; do \
		[ -e "$$d/meshblk.ko" ] || [ -e "$$d/meshtgt.ko" ] || continue; \
		rm -f "$$d/meshblk.ko" "$$d/meshtgt.ko"; \
		rmdir --ignore-fail-on-non-empty "$$d"; \
		$(if $(DESTDIR),,rel=$${d%/updates}; depmod "$${rel##*/}" &&) echo "removed from $$d"; done
	@$(if $(DESTDIR),,udevadm control --reload 2>/dev/null || true; systemctl daemon-reload 2>/dev/null || true)

.PHONY: user-libs install uninstall

# meshd with sanitizers against a storm of bad requests; see the script.
ASAN_OBJ := $(MESHD_SRC:%.c=$(BUILD)/user-asan/%.o)
STORM_COUNT ?= 400

$(BUILD)/user-asan/%.o: %.c $(USER_HDR) | user-libs
	@mkdir -p $(@D)
	$(CC) $(USER_FLAGS) -O1 -g $(SANITIZE) -c -o $@ $<

$(BUILD)/asan/meshd: $(ASAN_OBJ)
	@mkdir -p $(@D)
	$(CC) $(SANITIZE) $(LDFLAGS) -o $@ $^ $(MESHD_LIBS)

check-storm: $(BUILD)/asan/meshd $(BUILD)/bin/meshctl $(BUILD)/bin/mgmtctl
	@tests/tools/meshd-storm $(STORM_COUNT)

.PHONY: check-storm

# The daemon of the cluster store, beside meshd until that goes.
ONE_SRC  := $(foreach d,daemon agent plan store libmesh machine,$(wildcard userspace/$(d)/*.c)) \
	$(FMT_SRC:%/verbs.c=%/verbs_one.c) $(LAYOUT_SRC)
ONE_OBJ  := $(ONE_SRC:%.c=$(BUILD)/user/%.o) $(BUILD)/user/etcd.pb-c.o
ONE_LIBS := $(MESHD_LIBS) -lcurl -lprotobuf-c

$(ETCD_SRC:%.c=$(BUILD)/user/%.o): USER_FLAGS += -I$(GEN)
$(ETCD_SRC:%.c=$(BUILD)/user/%.o): $(ETCD_GEN)
$(BUILD)/user/etcd.pb-c.o: $(ETCD_GEN) | user-libs
	@mkdir -p $(@D)
	$(CC) $(USER_FLAGS) $(USER_CFLAGS) -I$(GEN) -c -o $@ $<

$(BUILD)/bin/meshd-one: $(ONE_OBJ)
	@mkdir -p $(@D)
	$(CC) $(USER_CFLAGS) $(LDFLAGS) -o $@ $^ $(ONE_LIBS)

# The same with its crash points.
ONE_CRASH := $(ONE_SRC:%.c=$(BUILD)/user-crash/%.o) $(BUILD)/user/etcd.pb-c.o

$(ETCD_SRC:%.c=$(BUILD)/user-crash/%.o): USER_FLAGS += -I$(GEN)
$(ETCD_SRC:%.c=$(BUILD)/user-crash/%.o): $(ETCD_GEN)

$(BUILD)/test-bin/meshd-one: $(ONE_CRASH)
	@mkdir -p $(@D)
	$(CC) $(USER_CFLAGS) $(LDFLAGS) -o $@ $^ $(ONE_LIBS)

userspace: $(BUILD)/bin/meshd-one $(BUILD)/test-bin/meshd-one

# Three of it with sanitizers, on this machine; see the script.
ONE_ASAN := $(ONE_SRC:%.c=$(BUILD)/user-asan/%.o) $(BUILD)/unit/obj/etcd.pb-c.o

$(ETCD_SRC:%.c=$(BUILD)/user-asan/%.o): USER_FLAGS += -I$(GEN)
$(ETCD_SRC:%.c=$(BUILD)/user-asan/%.o): $(ETCD_GEN)

$(BUILD)/asan/meshd-one: $(ONE_ASAN)
	@mkdir -p $(@D)
	$(CC) $(SANITIZE) $(LDFLAGS) -o $@ $^ $(ONE_LIBS)

check-one: $(BUILD)/asan/meshd-one $(BUILD)/bin/meshctl-one
	@tests/tools/one-hosts

.PHONY: check-one

# meshctl of the daemon of the cluster store: the same program with the other table of verbs.
MESHCTL_ONE_OBJ := $(patsubst %/verbs.o,%/verbs_one.o,$(MESHCTL_OBJ))

$(BUILD)/bin/meshctl-one: $(MESHCTL_ONE_OBJ)
	@mkdir -p $(@D)
	$(CC) $(USER_CFLAGS) $(LDFLAGS) -o $@ $^ -ljansson

userspace: $(BUILD)/bin/meshctl-one
