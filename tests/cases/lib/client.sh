# shellcheck shell=bash disable=SC2034,SC2086,SC2154
# SPDX-License-Identifier: GPL-2.0-only
# For cases that drive RDDA's client through rddatest.ko against a meshtgt with
# two RAM drives: extents $e0 and $e1 of the first, $e2 of the second.

addr=10.77.0.1
client=c0000000-0000-0000-0000-000000000000	# as rddatest says
rdda_target=11111111-1111-4111-8111-111111111111
d0=d0000000-0000-4000-8000-000000000000
d1=d1000000-0000-4000-8000-000000000000
e0=e0000000-0000-4000-8000-000000000000
e1=e1000000-0000-4000-8000-000000000000
e2=e2000000-0000-4000-8000-000000000000
serve=

# shellcheck source=tests/cases/lib/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

serve_drive() { # UUID [HOLDER]: the host that its label names as the one that writes
	local ready=ready${2:+,holder=$2}
	if [ "$1" = $d0 ]; then
		tgtctl add $d0 /dev/ram0 $e0,1048576,134217728,$ready $e1,135266304,134217728,$ready
	else
		tgtctl add $d1 /dev/ram1 $e2,1048576,268435456,$ready
	fi
}

client_up() {
	rnr_before=$(rnr)
	modprobe brd rd_nr=2 rd_size=393216
	modprobe meshtgt
	tgtctl identity $rdda_target
	tgtctl serve >/tmp/serve.log &
	serve=$!
	until grep -q serving /tmp/serve.log; do sleep 0.05; done
	serve_drive $d0
	serve_drive $d1
	tgtctl listen $addr
}

client_down() {
	[ "$(rnr)" = "$rnr_before" ] || fail "receives ran out: $(($(rnr) - rnr_before)) times"
	kill "$serve"
	wait "$serve" 2>/dev/null || :
	modprobe -r meshtgt
	modprobe -r brd
}

# One run of the test module; its line of result is in $said.
try() { # PARAMETERS...
	local ret=0
	dmesg -C
	modprobe rddatest "$@" 2>/dev/null || ret=1
	said=$(dmesg | grep -E 'rddatest: [a-z]*: (ok|FAILED)' | tail -n 1)
	return $ret
}

run() { # PARAMETERS...
	try "$@" || { dmesg | tail -n 20; fail "rddatest $*"; }
	echo "$* -> ${said#*rddatest: }"
	modprobe -r rddatest
}

# A number from the line of result.
count() { sed -n "s/.* $1 \([0-9]*\).*/\1/p" <<<"$said"; }

sessions() { tgtctl sessions | sed -n 's/.*session=\([0-9]*\).*/\1/p'; }
