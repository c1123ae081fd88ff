# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# For cases about protection groups; of the usual volume, and without meshd.

# shellcheck source=tests/cases/lib/vol.sh
. "$(dirname "${BASH_SOURCE[0]}")/vol.sh"

params=/sys/module/meshblk/parameters

# The check runs few shapes of a case. What differs by level is protect/, which test_prot_* and the
# simulator check for each; of the driver all shapes catch the same. In the check a member of ec is
# lost, comes back and is read around in 120 and 124, unreadable in 135, cut in 126, in use in 134,
# replaced in 351 and attached without one in 122 and 350. The other tiers run all shapes.
every_shape() { [ "${MESH_TIER:-check}" != check ]; }

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
	: >/run/listening
	blkctl witness "${1:-/run/note}" 9999 >/run/listening & witness=$!
	wait_for 60 grep -q listening /run/listening || fail "no witness"
}
witness_kill() { kill -9 "$witness"; wait "$witness" 2>/dev/null || :; }

# What VOLUME_GET says of the groups, one value a line.
# shellcheck disable=SC2154
groups() { # KEY
	blkctl get "$vol" | grep -o "\"$1\":\(\"[^\"]*\"\|[0-9]*\)" | cut -d: -f2- | tr -d '"'
}

# The roles of all members of the volume's only group.
has_roles() { [ "$(groups roles)" = "$1" ]; }
roles_are() { # ROLES
	wait_for 90 has_roles "$1" || fail "the roles are '$(groups roles)', not '$1': $(blkctl get "$vol")"
}

# Why a group is not attached; it goes through other reasons first.
has_reason() { [[ "$(groups group_reason)" = *$1* ]]; }
reason_is() { wait_for 90 has_reason "$1" || fail "the reason is not '$1': $(blkctl get "$vol")"; } # TEXT

# Requests to write are in flight: nothing else writes to a disk of these cases.
in_flight() { [ "$(awk '{ print $2 }' /sys/block/mesh0/inflight)" != 0 ]; }
writing() { wait_for 60 in_flight || fail "nothing is being written"; }

# All of the volume's only group is compared.
no_scrub() { [ -z "$(groups scrubbing)" ]; }
scrub() { # [repair [MEMBER]]: to its end
	blkctl scrub "$vol" "$@"
	wait_for 300 no_scrub || fail "the scrub does not end: $(blkctl get "$vol")"
	[ "$(groups scrubbed)" = "$(groups member_bytes)" ] || fail "not all was compared: $(blkctl get "$vol")"
}

# After a forced delete, which does not wait for all.
is_gone() { [ -z "$(blkctl get)" ] && [ ! -e /dev/mesh0 ]; }
volume_gone() { wait_for 60 is_gone || fail "the volume stays: $(blkctl get)"; }

# N roles, all in sync but those named: I=ROLE.
all_but() { # N [I=ROLE]...
	local n=$1 i r=() e; shift
	for ((i = 0; i < n; i++)); do r[i]=in_sync; done
	for e in "$@"; do r[${e%=*}]=${e#*=}; done
	echo "${r[*]}"
}

# Faults, I WHICH, and commands, with commas between them.
apply() {
	local todo what
	IFS=, read -ra todo <<<"$1"
	for what in "${todo[@]}"; do
		read -ra what <<<"$what"
		case ${what[0]-} in
		'') ;;
		[0-9]) fault "${what[@]}" ;;
		*) "${what[@]}" ;;
		esac
	done
}

# Rows of standard input: WHAT | FAULTS | LOAD | FAULTS a second later | ROLE/ROLE, of which one is seen
# then, or nothing | FAULTS. The group, of N members, is in sync at the end of each, and no load fails.
group_rows() { # N
	local what before load later roles after i
	while IFS='|' read -ru 3 what before load later roles after; do
		echo "$what"
		apply "$before"
		apply "$load" & i=$!
		if [[ $later = *[^\ ]* ]]; then
			sleep 1
			apply "$later"
		fi
		wait $i || fail "the load failed: $what"
		roles=${roles// }
		[[ $(groups roles) =~ ${roles//\//|} ]] || fail "$what: the roles are $(groups roles)"
		apply "$after"
		group_in_sync "$1"
	done 3<&0
}

group_in_sync() { # N: of one group
	roles_are "$(all_but "$1")"
}
