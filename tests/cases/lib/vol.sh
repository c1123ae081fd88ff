# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# For cases that talk to meshblk through blkctl.

# shellcheck disable=SC2034 # for the cases
vol=11111111-2222-4333-8444-555555555555
# shellcheck disable=SC2034
other=99999999-2222-4333-8444-555555555555
# shellcheck disable=SC2034
sys=/sys/block/mesh0/mesh

# shellcheck source=tests/cases/lib/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# Refused, with a reason that matches PATTERN.
refused() { # PATTERN COMMAND...
	local pattern=$1 said; shift
	if said=$("$@" 2>&1); then fail "was taken: $*"; fi
	[[ $said =~ $pattern ]] || fail "refused for another reason: $said ($*)"
}

# The modules go, unless something holds them.
vol_unload() {
	modprobe -r meshmem 2>/dev/null || :
	modprobe -r meshblk 2>/dev/null || :
}

unloads() { wait_for 60 unloaded; }	# once nothing holds them
unloaded() { vol_unload; [ ! -e /sys/module/meshblk ]; }

# What a case leaves behind disturbs the next one.
vol_cleanup() {
	local u
	set +e		# else the first thing that is not there ends the case
	umount /mnt 2>/dev/null
	for u in $(blkctl get 2>/dev/null | grep -o '"uuid":"[^"]*","name' | cut -d'"' -f4); do
		blkctl del "$u" force
	done
	vol_unload
}

vol_up() {
	modprobe meshmem	# and meshblk, which it needs
	trap vol_cleanup EXIT
}

# Drives I... read zero, records and data; -f as dm may hold them.
wipe() { local i; for i; do blkdiscard -fz "/dev/nvme${i}n1"; done; }

# blkctl make for the usual volume; prints nothing. Waits for the disk.
make_vol() { blkctl make -w 20 "$@" >/dev/null; }

# Forget target 1: after a forced detach its extents are closed in the background.
target_del() { wait_for 60 blkctl target-del 1 2>/dev/null || fail "$(blkctl target-del 1 2>&1)"; }

# A value out of a one-line JSON object: no jq here.
json_get() { # KEY
	grep -o "\"$1\":[^,}]*" | head -n 1 | cut -d: -f2- | tr -d '"'
}
