# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-only
# For cases whose volume's members are compared by what did not write them: a program that knows
# the documents alone reads the drives, once nothing is in flight to them.

cases=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
checker=$cases/../../../build/nbd/check-members

# How a host's drives are read: node N is 10.77.0.N. In one guest, this one.
of_host() { # HOST COMMAND...
	local host=$1; shift
	if [ -n "${LAB:-}" ]; then "$LAB" exec "${host##*[!0-9]}" "$@"; else "$@"; fi
}

# FOLDER/SEGMENT for each: what is wrong with it.
raw_compare() { # FOLDER
	local seg said
	for seg in "$1"/*/; do
		said=$("$checker" "$seg") || fail "members differ: $said"
		echo "segment $(basename "$seg"): $said"
	done
	rm -rf "$1"
}

# raw_check FOLDER SHOW: what `volume show --json` said before the volume was detached.
raw_check() {
	local file host extent at bytes
	rm -rf "$1"
	"$cases/raw-members" plan "$1" <"$2" >"$2.plan"
	while read -r file host extent at bytes; do
		of_host "$host" sh -c "'$cases/raw-members' data $extent $at $bytes \$(ls /dev/nvme*n1 /dev/sd? 2>/dev/null)" \
			>"$1/$file" </dev/null || fail "member $file on host $host cannot be read"
		[ "$(stat -c %s "$1/$file")" = "$bytes" ] || fail "member $file is short"
	done <"$2.plan"
	raw_compare "$1"
}

# The same of members in memory that are kept, with all in sync: a volume without redundancy shows
# what they hold. Of each the data begins at 16 MiB, and ends with it.
raw_check_kept() { # FOLDER LEVEL COLUMNS PARITY STRIP MEMBER...
	local to=$1/0 levels=(- - - mirror raid10 ec) level mib disk all=() i
	for level in "${!levels[@]}"; do [ "${levels[level]}" != "$2" ] || break; done
	mib=$(cut -d: -f2 <<<"${6%@*}") mib=${mib%M}
	rm -rf "$1"
	mkdir -p "$to"
	printf '%s %d\n' level "$level" data "$3" parity "$4" groups $((($# - 5) / ($3 + $4))) \
		strip "$5" bytes $(((mib - 16) << 20)) data_at 0 members $(($# - 5)) >"$to/state"
	shift 5
	for i; do all+=(+ "$i"); done
	disk=$(blkctl make -w 20 -u "$other" -n raw -x "${all[@]:1}")
	for ((i = 0; i < $#; i++)); do
		echo "member $i in" >>"$to/state"
		dd if="/dev/$disk" of="$to/m$i" bs=1M skip=$((i * mib + 16)) count=$((mib - 16)) \
			iflag=direct status=none
	done
	blkctl del "$other"
	raw_compare "${to%/0}"
}
