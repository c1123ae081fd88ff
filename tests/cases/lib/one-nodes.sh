# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: GPL-2.0-only
# For cases of several nodes with the daemon of the cluster store. Node 1 keeps the store and exports
# drives; the others join with a token.

# shellcheck source=tests/cases/lib/nodes.sh
. "$(dirname "${BASH_SOURCE[0]}")/nodes.sh"

mc() { # NODE VERB...
	on "$1" env MESHD_SOCKET=/run/one.sock "$top/build/bin/meshctl-one" "${@:2}"
}
answers() { mc "$1" version >/dev/null 2>&1; }
daemon_up() { # NODE
	on "$1" sh -c "mkdir -p /var/lib/meshd/one; : >>/run/one.conf
		setsid '$top/build/bin/meshd-one' --state /var/lib/meshd/one --socket /run/one.sock \
			--config /run/one.conf </dev/null >>/run/one.log 2>&1 &"
	wait_until 120 answers "$1"
}
daemon_kill() { on "$1" pkill -KILL -f 'bin/meshd-on[e]' || :; }
one_fail() {
	local n
	for n in ${up:-}; do echo "node $n:"; on "$n" tail -n 25 /run/one.log; done
	mc 1 cluster status || :
	mc 1 task list --all || :
	fail "$@"
}
one_expect() { # STATUS TEXT NODE VERB...
	local want=$1 text=$2 said status=0; shift 2
	said=$(mc "$@" 2>&1) || status=$?
	[ $status = "$want" ] || one_fail "node $1: '${*:2}' ended with $status, not $want: $said"
	grep -qF -- "$text" <<<"$said" || one_fail "node $1: '${*:2}' does not say '$text': $said"
}
one_json() { # EXPRESSION NODE VERB...
	local filter=$1; shift
	mc "$@" --json | /usr/bin/python3 -I -S -c "import json, sys
r = json.load(sys.stdin)
print($filter)"
}
# The cluster of all nodes: node 1 makes it, and each other one joins as ROLE.
cluster_up() { # ROLE NODE...
	local role=$1 n; shift
	up="1 $*"
	daemon_up 1
	one_expect 0 "" 1 cluster init
	for n; do
		daemon_up "$n"
		mc 1 cluster token --role "$role" >"$tmp/token"
		one_expect 0 "" "$n" cluster join "$(<"$tmp/token")"
		wait_until 120 answers "$n"
	done
}
dev_of() { echo "$(one_json "[v['device'] for v in r['volumes'] if v['name'] == '$2'][0]" "$1" volume list)"; } # NODE VOLUME
