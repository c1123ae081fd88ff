# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# For cases about protection groups; of the usual volume, and without meshd.

# shellcheck source=tests/cases/lib/vol.sh
. "$(dirname "${BASH_SOURCE[0]}")/vol.sh"

params=/sys/module/meshblk/parameters

# Short times, so that a case need not wait for those that people get.
group_up() {
	vol_up
	echo 2000 >$params/member_timeout_ms
	echo 3000 >$params/attach_wait_ms
	echo 0 >$params/bar_members	# members come and go all the time here
	blkctl identity 77777777-2222-4333-8444-555555555555
}

# MB/s, also while something reads
# shellcheck disable=SC2154 # sys comes from vol.sh
pace() { echo "$1" >"$sys/sync_max"; echo "$1" >"$sys/sync_min"; }
# shellcheck disable=SC2154
fault() { echo "$(<"$sys/members/$1/uuid") $2" >/sys/module/meshmem/parameters/fault; }

# In the place of meshd: notes the roster of a group in a file, "-": does not answer.
witness_up() { # [FILE]
	local i
	: >/run/listening
	blkctl witness "${1:-/run/note}" 9999 >/run/listening & witness=$!
	for ((i = 0; i < 100; i++)); do
		! grep -q listening /run/listening || return 0
		sleep 0.1
	done
	fail "no witness"
}
witness_kill() { kill -9 "$witness"; wait "$witness" 2>/dev/null || :; }

# What VOLUME_GET says of the groups, one value a line.
# shellcheck disable=SC2154
groups() { # KEY
	blkctl get "$vol" | grep -o "\"$1\":\(\"[^\"]*\"\|[0-9]*\)" | cut -d: -f2- | tr -d '"'
}

# The roles of all members of the volume's only group, in a time that a busy machine may need.
roles_are() { # ROLES
	for _ in $(seq 300); do
		[ "$(groups roles)" != "$1" ] || return 0
		sleep 0.2
	done
	blkctl get "$vol"
	fail "the roles are '$(groups roles)', not '$1'"
}

# Why a group is not attached, in that time; it goes through other reasons first.
reason_is() { # TEXT
	for _ in $(seq 300); do
		[[ "$(groups group_reason)" != *$1* ]] || return 0
		sleep 0.2
	done
	fail "the reason is not '$1': $(blkctl get "$vol")"
}

# Requests to write are in flight: nothing else writes to a disk of these cases.
writing() {
	for _ in $(seq 300); do
		[ "$(awk '{ print $2 }' /sys/block/mesh0/inflight)" = 0 ] || return 0
		sleep 0.1
	done
	fail "nothing is being written"
}

# All of the volume's only group is compared.
scrub() { # [repair [MEMBER]]: to its end
	blkctl scrub "$vol" "$@"
	for _ in $(seq 900); do
		[ -n "$(groups scrubbing)" ] || break
		sleep 0.2
	done
	[ -z "$(groups scrubbing)" ] || fail "the scrub does not end: $(blkctl get "$vol")"
	[ "$(groups scrubbed)" = "$(groups member_bytes)" ] || fail "not all was compared: $(blkctl get "$vol")"
}

# After a forced delete, which does not wait for all.
volume_gone() {
	for _ in $(seq 300); do
		[ -n "$(blkctl get)" ] || [ -e /dev/mesh0 ] || return 0
		sleep 0.1
	done
	fail "the volume stays: $(blkctl get)"
}

# N roles, all in sync but those named: I=ROLE.
all_but() { # N [I=ROLE]...
	local n=$1 i r=() e; shift
	for ((i = 0; i < n; i++)); do r[i]=in_sync; done
	for e in "$@"; do r[${e%=*}]=${e#*=}; done
	echo "${r[*]}"
}

group_in_sync() { # N: of one group
	roles_are "$(all_but "$1")"
}
