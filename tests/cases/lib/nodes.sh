# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: GPL-2.0-only
# For cases of several nodes: node 1 is the client, the others export their drives.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
tmp=$(mktemp -d)
# What is left in the background would hold the lab up until the case's time is over.
trap 'jobs -p | xargs -r kill 2>/dev/null || :; rm -rf "$tmp"' EXIT
guest=$top/tests/lab/guest
stamps=$top/tests/cases/lib/stamps

# shellcheck source=tests/cases/lib/common.sh
. "$top/tests/cases/lib/common.sh"
# shellcheck source=tests/cases/lib/volumes.sh
. "$top/tests/cases/lib/volumes.sh"
on() { "$LAB" exec "$@"; }
began=$SECONDS
say() { echo "$((SECONDS - began)) s: $*"; }

client_up() { on 1 env LAB_EXPORT=no "$guest/mesh-up" || fail "meshd of the client"; }
target_up() { on "$1" "$guest/mesh-up" || fail "meshd of node $1"; }
# Node N, whose meshd runs, is known to node 1 from now on; what it exports later, too.
join_node() { mesh host add "10.77.0.$1"; }

# What a Python expression over a --json result, r, gives: as userspace.sh has it for a case of one guest.
json() { # EXPRESSION COMMAND...
	local filter=$1; shift
	"$@" --json | /usr/bin/python3 -I -S -c "import json, sys
r = json.load(sys.stdin)
print($filter)"
}

start() { # NODE... together, since booting is what takes time
	local n pids=()
	for n in "$@"; do "$LAB" start "$n" & pids+=($!); done
	for n in "${pids[@]}"; do wait "$n" || fail "a node did not start"; done
}

# The UUID of the drive that `lab unplug NODE I` takes.
drive_of_node() { json "next(d['uuid'] for d in r['drives'] if d['serial'].endswith('-$2'))" on "$1" meshctl drive list; }

# Sets a field of a volume's sysfs folder.
tune() { on 1 sh -c "echo $3 >/sys/block/${1#/dev/}/mesh/$2"; }

# In the background, in the client: fio that verifies as it goes. Its output is
# in $tmp/NAME.
fio_start() { # NAME DEVICE fio options...
	local name=$1 dev=$2; shift 2
	on 1 fio --name=v --filename="$dev" --ioengine=libaio --direct=1 --verify=crc32c \
		--verify_fatal=1 --minimal --rw=randrw --bsrange=512-128k --blockalign=512 \
		--iodepth=8 --size=32M "$@" >"$tmp/$name" 2>&1 &
	fio=$!
}

fio_wait() { # NAME PID
	wait "$2" || { cat "$tmp/$1"; fail "fio $1"; }
}

wait_until() { # SECONDS COMMAND...
	local end=$((SECONDS + $1)); shift
	until "$@"; do
		[ $SECONDS -lt $end ] || fail "not in time: $*"
		sleep 0.2
	done
}

# A sum over the client's targets out of meshctl stats.
stat_sum() { # FIELD
	json "sum(t['stats']['$1'] for t in r['targets'])" mesh stats
}
