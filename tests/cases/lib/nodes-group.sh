# shellcheck shell=bash disable=SC2034,SC2154
# SPDX-License-Identifier: GPL-2.0-only
# For cases of several nodes with a volume of a group, $v at $dev. Of a level ($level) and for the
# $round-th time, what was acknowledged is written down outside, and checked afterwards.

# shellcheck source=tests/cases/lib/nodes.sh
. "$(dirname "${BASH_SOURCE[0]}")/nodes.sh"

v=v
round=0
acked=$tmp/acked

written() { [ "$(wc -l <"$acked")" -gt "$1" ]; }
health_is() { [ "$(json "[v['health'] for v in r['volumes'] if v['name'] == '$v'][0]" mesh volume list)" = "$1" ]; }
whole() { wait_until 180 health_is whole; }
# What Python makes of the volume as it is shown, which is r.
show() { json "$1" mesh volume show "$v"; } # EXPRESSION
mismatches() { groups_of "$v" 'sum(g.get("mismatches", 0) for g in groups)'; }

writer_start() {
	: >"$acked"
	on 1 "$stamps" write "$dev" "$round" >"$acked" & writer=$!
	wait_until 120 written 100
}
check() { # WHAT
	said=$(on -i 1 "$stamps" check "$dev" "$round" <"$acked") || fail "$level, round $round, $1: $said"
	say "$level, $1: ${said##*$'\n'}"
}

# All members have the same, as the volume's own scrub sees it.
scrubbed() {
	on 1 meshctl volume scrub "$v"
	on 1 meshctl volume wait "$v"
	[ "$(mismatches)" = 0 ] || fail "$level: members differ: $(on 1 meshctl volume show "$v" --json)"
}

# The node and drive of each member, as `lab unplug` has them.
places() { # NODE...: that export drives
	local n
	for n; do
		on "$n" lsblk -dno PATH,SERIAL | awk '$2 ~ /^LAB-/ { sub(/.*-/, "", $2); print $1, $2 }' >"$tmp/serials$n"
		on "$n" meshctl drive list --json >"$tmp/drives$n"
	done
	on 1 meshctl volume show "$v" --json | /usr/bin/python3 -c '
import json, sys
at = {}
for n in sys.argv[2:]:
    serial = dict(line.split() for line in open(f"{sys.argv[1]}/serials{n}"))
    for d in json.load(open(f"{sys.argv[1]}/drives{n}"))["drives"]:
        if d["path"] in serial:
            at[d["uuid"]] = n + " " + serial[d["path"]]
for m in json.load(sys.stdin)["members"]:
    print(at[m["drive"]])' "$tmp" "$@"
}
