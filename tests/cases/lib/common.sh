# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# For every case; the other libraries bring it along.

fail() { echo "FAILED: $*" >&2; exit 1; }

# Waits are for states, with a time that the slowest machine has: a command that becomes true in
# SECONDS of the guest's clock. Status 1, and one line, when it does not.
wait_for() { # SECONDS COMMAND...
	local end=$((SECONDS + $1)); shift
	until "$@"; do
		[ $SECONDS -lt $end ] || { echo "not in time: $*" >&2; return 1; }
		sleep 0.1
	done
}
not() { ! "$@"; }

differing() { # FILE FILE: pages that differ, with how many bytes of each
	cmp -l "$1" "$2" | awk '{ p = int(($1 - 1) / 4096); if (!n[p]++) page[++m] = p }
		END { for (i = 1; i <= m; i++) printf " %d:%d", page[i], n[page[i]] }'
}

# What can be known of a block that fio read wrong. Read again it is right if the
# read was wrong, and wrong if the write was. In page 0 fio's header differs always.
wrong_block() { # DEVICE FOLDER of fio's dumps
	local got want f off page
	for got in "$2"/*.received; do
		[ -e "$got" ] || return 0
		want=${got%.received}.expected
		off=${got%.received} off=${off##*.}
		dd if="$1" of="$2/again" bs=1M iflag=direct,skip_bytes,count_bytes skip="$off" \
			count="$(stat -c %s "$got")" status=none || return 0
		echo "block at $off, pages and how many bytes of each are wrong:"
		echo "  as fio read it:  $(differing "$got" "$want")"
		echo "  read once more:  $(differing "$2/again" "$want")"
		echo "  between the two: $(differing "$2/again" "$got")"
		page=$(cmp -l "$got" "$want" | awk '$1 > 4096 { print int(($1 - 1) / 4096); exit }')
		for f in "$got" "$want"; do
			echo "  page ${page:=0}, ${f##*.}: $(od -An -tx8 -w32 -j $((page * 4096)) -N 32 "$f")"
		done
	done
}

verify() { # DEVICE fio options...
	local dev=$1 dir; shift
	dir=$(mktemp -d)
	fio --name=v --filename="$dev" --ioengine=libaio --direct=1 --verify=crc32c \
		--verify_fatal=1 --verify_dump=1 --aux-path="$dir" --serialize_overlap=1 \
		--group_reporting --minimal "$@" >"$dir/said" 2>&1 ||
		{ cat "$dir/said"; wrong_block "$dev" "$dir"; fail "fio: $*"; }
	rm -rf "$dir"
}

# A receive that was not there when a message came: credits make that a bug. Only
# the NIC counts it, since the sender repeats it without end.
rnr() { cat /sys/class/infiniband/*/ports/1/hw_counters/rcvd_rnr_err; }
