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

USER_CFLAGS ?= -O2 -g
USER_FLAGS := -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -fstack-protector-strong \
	-Iuserspace/shim -I. -I/usr/include/libnl3

LIBMESH_SRC := $(wildcard userspace/libmesh/*.c)
MESHD_SRC   := $(wildcard userspace/meshd/*.c) $(LIBMESH_SRC) $(FMT_SRC)
MESHCTL_SRC := $(wildcard userspace/meshctl/*.c) userspace/format/size.c
MESHD_LIBS  := -lnl-genl-3 -lnl-3 -lsqlite3 -ljansson -lkmod -lblkid -lnvme -libverbs -lxxhash -lpthread
USER_HDR    := $(wildcard userspace/*/*.h userspace/shim/*/*.h driver/uapi/*.h)

MESHD_OBJ   := $(MESHD_SRC:%.c=$(BUILD)/user/%.o)
MESHCTL_OBJ := $(MESHCTL_SRC:%.c=$(BUILD)/user/%.o)
CRASH_OBJ   := $(MESHD_SRC:%.c=$(BUILD)/user-crash/%.o)

$(BUILD)/user/%.o: %.c $(USER_HDR)
	@mkdir -p $(@D)
	$(CC) $(USER_FLAGS) $(USER_CFLAGS) -c -o $@ $<

$(BUILD)/user-crash/%.o: %.c $(USER_HDR)
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

# Modules of the kernel that KDIR is of, as its own build installs them.
install: modules userspace
	$(MAKE) -C $(KDIR) M=$(KBUILDDIR) INSTALL_MOD_DIR=updates INSTALL_MOD_PATH=$(DESTDIR) modules_install
	$(if $(DESTDIR),,depmod $(kdir-release))
	install -D -m 755 $(BUILD)/bin/meshd $(DESTDIR)$(SBINDIR)/meshd
	install -D -m 755 $(BUILD)/bin/meshctl $(DESTDIR)$(SBINDIR)/meshctl
	install -D -m 644 userspace/man/meshd.8 $(DESTDIR)$(MANDIR)/man8/meshd.8
	install -D -m 644 userspace/man/meshctl.8 $(DESTDIR)$(MANDIR)/man8/meshctl.8
	install -D -m 644 userspace/udev/60-meshblk.rules $(DESTDIR)$(UDEVDIR)/60-meshblk.rules
	install -D -m 644 userspace/systemd/meshd.service $(DESTDIR)$(UNITDIR)/meshd.service
	install -D -m 644 userspace/completion/meshctl $(DESTDIR)$(COMPDIR)/meshctl
	@$(if $(DESTDIR),,udevadm control --reload 2>/dev/null || true; systemctl daemon-reload 2>/dev/null || true)
	@echo "installed; start it with: systemctl enable --now meshd"

# What install put there; /var/lib/meshd with host UUID and store stays.
uninstall:
	rm -f $(DESTDIR)$(SBINDIR)/meshd $(DESTDIR)$(SBINDIR)/meshctl \
		$(DESTDIR)$(MANDIR)/man8/meshd.8 $(DESTDIR)$(MANDIR)/man8/meshctl.8 \
		$(DESTDIR)$(UDEVDIR)/60-meshblk.rules $(DESTDIR)$(UNITDIR)/meshd.service \
		$(DESTDIR)$(COMPDIR)/meshctl
	for m in meshblk meshtgt; do \
		rm -f $(DESTDIR)/lib/modules/$(kdir-release)/updates/$$m.ko*; done
	$(if $(DESTDIR),,depmod $(kdir-release))

.PHONY: install uninstall
