# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# For cases about the daemon of the cluster store, in one guest: build/bin/meshd-one, and its meshctl.
# shellcheck disable=SC1091 # written per guest by the lab
. /run/lab/env
# shellcheck source=tests/cases/lib/common.sh
. "$LAB_TOP/tests/cases/lib/common.sh"

one_log=/run/meshd-one.log
export MESHD_SOCKET=/run/one.sock
mc() { "$LAB_TOP/build/bin/meshctl-one" "$@"; }
# The result of a command as a Python expression of it: r.
one_json() { # EXPRESSION COMMAND...
	local filter=$1; shift
	mc "$@" --json | /usr/bin/python3 -I -S -c "import json, sys
r = json.load(sys.stdin)
print($filter)"
}

one_answers() { mc version >/dev/null 2>&1; }
one_up() { # OPTION...
	mkdir -p /var/lib/meshd/one
	"${one_meshd:-$LAB_TOP/build/bin/meshd-one}" "$@" --state /var/lib/meshd/one --socket /run/one.sock \
		--config /run/one.conf >>$one_log 2>&1 &
	one_pid=$!
	wait_for 120 one_answers || one_fail "the daemon does not answer"
}
one_gone() { ! kill -0 "$one_pid" 2>/dev/null; }
one_kill() { kill -KILL "$one_pid"; wait_for 60 one_gone; }
one_stop() { kill -TERM "$one_pid"; wait_for 60 one_gone || one_fail "the daemon does not end"; }
one_fail() { tail -n 40 $one_log; mc cluster status || :; mc task list --all || :; fail "$@"; }

# expect STATUS TEXT COMMAND...: of meshctl
one_expect() {
	local want=$1 text=$2 said status=0; shift 2
	said=$(mc "$@" 2>&1) || status=$?
	[ $status = "$want" ] || one_fail "'$*' ended with $status, not $want: $said"
	grep -qF -- "$text" <<<"$said" || one_fail "'$*' does not say '$text': $said"
}
one_dev() { # VOLUME: its block device on this host
	echo "$(one_json "[v['device'] for v in r['volumes'] if v['name'] == '$1'][0]" volume list)"
}
