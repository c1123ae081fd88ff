# shellcheck shell=bash disable=SC2034,SC2119,SC2120
# SPDX-License-Identifier: GPL-2.0-only
# For cases that talk to meshtgt through meshpeer and tgtctl.

do=/sys/kernel/debug/meshpeer/do
addr=10.77.0.1
pids=()

# shellcheck source=tests/cases/lib/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

refused() { # COMMAND...
	if "$@" 2>/tmp/why; then fail "not refused: $*"; fi
}

# Numbers to UUIDs.
host() { printf '1111%04x-0000-4000-8000-000000000000' "$1"; }
drive() { printf '2222%04x-0000-4000-8000-000000000000' "$1"; }
extent() { printf '3333%04x-0000-4000-8000-000000000000' "$1"; }

tgt_up() { # [meshtgt parameters]
	mountpoint -q /sys/kernel/debug || mount -t debugfs none /sys/kernel/debug
	modprobe meshtgt "$@"
	modprobe meshpeer
	tgtctl identity "$(host 0)"
	tgtctl listen $addr
}

# One extent from 1 MiB on; more of them by TABLE lines of one's own.
tgt_export() { # NUMBER PATH [BYTES]
	tgtctl add "$(drive "$1")" "$2" "$(extent "$1"),1048576,${3:-33554432},ready"
}

tgt_serve() { # [refuse|silent]
	tgtctl serve "$@" >/tmp/serve.log &
	pids+=($!)
	until grep -q serving /tmp/serve.log; do sleep 0.05; done
}

tgt_unserve() {
	[ ${#pids[@]} -gt 0 ] || return 0
	kill "${pids[@]}" 2>/dev/null || :
	wait "${pids[@]}" 2>/dev/null || :	# not for I/O that hangs
	pids=()
}

tgt_down() {
	tgt_unserve
	modprobe -r meshpeer
	modprobe -r meshtgt
}

# A verb of meshpeer; what came of it is in $said.
say() {
	[ "$1" != login ] || set -- login "$2" $addr 4421 "${@:3}"
	echo "$*" >$do
	said=$(<$do)
	verb="$*"
}

expect() { # REGEX
	[[ $said =~ $1 ]] || fail "$verb: expected '$1', got '$said'"
}

state_has() { say state "$1"; [[ $said =~ $2 ]]; }
becomes() { wait_for 60 state_has "$1" "$2" || expect "$2"; } # NAME REGEX: so does its state

field() { sed -n "s/.*\b$1=\([^ ]*\).*/\1/p" <<<"$said"; }

# A session of one channel, proved and with a bounce arena.
session() { # NAME HOST NUMBER [KEYID KEY]
	say login "$1" "$(host "$2")" "$2" "$3" "${@:4}"
	expect session=
	sid=$(field session)
	say prove "$1"
	expect arena_off
	say bounce "$1"
	expect ok
}

# OPEN until it is answered with something other than "try again".
open() { # NAME EXTENT ro|rw EPOCH [preempt]
	for _ in {1..100}; do
		say open "$@"
		expect 'status='
		[[ $said =~ status=[458]\  ]] || break
		sleep 0.1
	done
	expect 'status=0 '
	nsid=$(field nsid) handle=$(field handle) slba=$(field slba)
}

io() { # as meshpeer's io; must succeed, and reads must see what was written
	say io "$@"
	expect 'status=0'
	[[ $said != *differs* ]] || fail "$verb: $said"
	[ "$2" != push ] || [[ $said == *pushed* ]] || fail "$verb: not pushed: $said"
}

no_session() { [ -z "$(tgtctl sessions)" ]; }
sessions_gone() { wait_for 60 no_session || fail "sessions left: $(tgtctl sessions)"; }
not_draining() { [[ $(tgtctl sessions) != *draining* ]]; }

fence_live() { # all sessions that live now
	local s
	for s in $(tgtctl sessions | sed -n 's/^session=\([0-9]*\) .*state=live.*/\1/p'); do
		tgtctl fence "$s" || :	# it may be over
	done
}

# A drive that keeps writes back: see tests/kmod/dm-hold.c.
held_up() { # DEVICE; makes /dev/mapper/held
	modprobe dm-mod
	modprobe dm-hold
	dmsetup create held --table "0 $(blockdev --getsz "$1") hold $1"
}
held_down() {
	dmsetup remove --retry held
	modprobe -r dm-hold
}
hold() { dmsetup message held 0 hold; }
release() { dmsetup message held 0 release; }
held() { dmsetup status held | cut -d' ' -f5; }
holds() { [ "$(held)" -ge "$1" ]; } # COUNT
kept() { # until one is held; what comes after it passes
	wait_for 60 holds 1 || fail "not held: $(dmsetup status held)"
	dmsetup message held 0 pass
}

# Rules taken out at the target, by their numbers in rdda/common/fault.h; none: all in.
faults() { # [NUMBER...]
	local n mask=0
	for n; do mask=$((mask | 1 << n)); done
	echo $mask >/sys/module/meshtgt/parameters/faults
}

trap 'kill "${pids[@]}" 2>/dev/null || :' EXIT
