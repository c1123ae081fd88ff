# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# For every case; the other libraries bring it along.

fail() { echo "FAILED: $*" >&2; exit 1; }

verify() { # DEVICE fio options...
	local dev=$1 out; shift
	out=$(mktemp)
	fio --name=v --filename="$dev" --ioengine=libaio --direct=1 --verify=crc32c \
		--verify_fatal=1 --serialize_overlap=1 --group_reporting --minimal "$@" >"$out" 2>&1 ||
		{ cat "$out"; fail "fio: $*"; }
	rm -f "$out"
}

# A receive that was not there when a message came: credits make that a bug. Only
# the NIC counts it, since it is asked again without end.
rnr() { cat /sys/class/infiniband/*/ports/1/hw_counters/rcvd_rnr_err; }
