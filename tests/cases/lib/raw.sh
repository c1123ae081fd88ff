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

# raw_check FOLDER SHOW: what `volume show --json` said before the volume was detached.
raw_check() {
	local file host extent at bytes seg said
	rm -rf "$1"
	"$cases/raw-members" plan "$1" <"$2" >"$2.plan"
	while read -r file host extent at bytes; do
		of_host "$host" sh -c "'$cases/raw-members' data $extent $at $bytes \$(ls /dev/nvme*n1 /dev/sd? 2>/dev/null)" \
			>"$1/$file" </dev/null || fail "member $file on host $host cannot be read"
		[ "$(stat -c %s "$1/$file")" = "$bytes" ] || fail "member $file is short"
	done <"$2.plan"
	for seg in "$1"/*/; do
		said=$("$checker" "$seg") || fail "members differ: $said"
		echo "segment $(basename "$seg"): $said"
	done
	rm -rf "$1"
}
