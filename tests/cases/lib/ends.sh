# shellcheck shell=bash disable=SC2086 # parameters are lists
# SPDX-License-Identifier: GPL-2.0-only
# For cases with both ends in one guest: a volume of meshblk over drives of meshtgt.

# shellcheck source=tests/cases/lib/target.sh
. "$(dirname "${BASH_SOURCE[0]}")/target.sh"
# shellcheck source=tests/cases/lib/vol.sh
. "$(dirname "${BASH_SOURCE[0]}")/vol.sh"

ends_up() { # [PARAMETERS of meshtgt [PARAMETERS of meshblk]]
	trap ends_down EXIT
	modprobe meshtgt ${1:-}
	modprobe meshblk ${2:-}
	tgtctl identity "$(host 0)"
	tgtctl listen "$addr"
}

# All that a case of both ends may have made goes, wherever it ended; a module that stays is a fault.
ends_down() {
	local d
	set +e
	jobs -p | xargs -r kill 2>/dev/null
	probes_off
	[ ! -w /sys/module/meshtgt/parameters/faults ] || faults
	for d in $(dmsetup ls 2>/dev/null | awk '$1 != "No" { print $1 }'); do
		dmsetup message "$d" 0 release 2>/dev/null
		dmsetup resume "$d"
	done
	vol_cleanup
	tgt_unserve
	modprobe -r meshpeer 2>/dev/null
	wait_for 60 modprobe -qr meshtgt || { echo "FAILED: meshtgt is held"; exit 1; }
	for d in $(dmsetup ls 2>/dev/null | awk '$1 != "No" { print $1 }'); do dmsetup remove --retry "$d"; done
	for d in dm-hold dm-late dm-bad brd; do modprobe -qr $d; done
}

# Functions of the modules by kprobes, which hold them: probed NAME is how often one was called.
tracing=/sys/kernel/tracing
probes_on() { # DEFINITION...
	mountpoint -q $tracing || mount -t tracefs none $tracing
	printf '%s\n' "$@" >$tracing/kprobe_events
	echo 1 >$tracing/events/kprobes/enable
}
probes_off() {
	[ ! -e $tracing/events/kprobes/enable ] || echo 0 >$tracing/events/kprobes/enable
	[ ! -e $tracing/kprobe_events ] || echo >$tracing/kprobe_events
}
probed() { awk -v p="$1" '$1 == p { print $2 }' $tracing/kprobe_profile; }
