# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# For cases that use volumes as an administrator does, through meshctl.

# shellcheck source=tests/cases/lib/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
# shellcheck source=tests/cases/lib/volumes.sh
. "$(dirname "${BASH_SOURCE[0]}")/volumes.sh"

# For cases whose guest has no meshd of its own (--mesh): it is there for the case alone.
mesh_begin() { "$LAB_TOP/tests/lab/guest/mesh-up"; }
mesh_end() {
	"$LAB_TOP/tests/lab/guest/mesh-down"
	rm -rf /var/lib/meshd/*
}

# Leave no volume behind: the next case shares the guest.
drop_volumes() {
	local v
	umount /mnt 2>/dev/null || :
	for v in "$@"; do
		meshctl volume detach "$v" --force >/dev/null 2>&1 || :
		drop "$v" >/dev/null 2>&1 || :
	done
}
