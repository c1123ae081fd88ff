# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# For cases that use volumes as people do, through meshctl.

fail() { echo "FAILED: $*" >&2; exit 1; }

verify() { # DEVICE fio options...
	local dev=$1 out; shift
	out=$(mktemp)
	fio --name=v --filename="$dev" --ioengine=libaio --direct=1 --verify=crc32c \
		--verify_fatal=1 --group_reporting --minimal "$@" >"$out" 2>&1 ||
		{ cat "$out"; fail "fio: $*"; }
	rm -f "$out"
}

# Leave no volume behind: the next case shares the guest.
drop_volumes() {
	local v
	umount /mnt 2>/dev/null || :
	for v in "$@"; do
		meshctl volume detach "$v" --force >/dev/null 2>&1 || :
		meshctl volume delete "$v" --force >/dev/null 2>&1 || :
	done
}
