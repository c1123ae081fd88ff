# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# For cases about meshd and meshctl: what they expect, and meshd ended, killed
# and started again. A case begins with meshd up and every drive exported (--mesh)
# and leaves it so, without a volume.
# shellcheck disable=SC1091 # written per guest by the lab
. /run/lab/env
# shellcheck source=tests/cases/lib/volumes.sh
. "$LAB_TOP/tests/cases/lib/volumes.sh"

fail() { echo "FAILED: $*"; tail -n 25 /run/meshd.log; exit 1; }

# expect STATUS [TEXT] -- COMMAND...: that exit status, one line at most on
# standard error unless it is 0, and TEXT in what it says.
expect() {
	local want=$1 text='' out status; shift
	[ "$1" = -- ] || { text=$1; shift; }
	shift
	out=$("$@" 2>&1 >/run/expect.out) && status=0 || status=$?
	[ "$status" -eq "$want" ] || fail "'$*' ended with $status, not $want: $out"
	if [ "$want" -ne 0 ]; then
		[ -n "$out" ] || fail "'$*' gives no reason"
		[ "$(wc -l <<<"$out")" -eq 1 ] || fail "'$*' says more than a line: $out"
	fi
	[ -z "$text" ] || grep -qF -- "$text" <<<"$out$(cat /run/expect.out)" ||
		fail "'$*' does not say '$text': $out $(cat /run/expect.out)"
}

meshd_up() { # [PROGRAM [OPTION...]]
	local i
	"${@:-meshd}" >>/run/meshd.log 2>&1 &
	meshd_pid=$!
	for ((i = 0; i < 600; i++)); do
		meshctl version >/dev/null 2>&1 && return
		kill -0 $meshd_pid 2>/dev/null || return 0	# ordered to die early
		sleep 0.1
	done
	fail "meshd does not answer"
}

meshd_gone() {
	local i
	for ((i = 0; i < 600; i++)); do
		pgrep -x meshd >/dev/null || return 0
		sleep 0.1
	done
	fail "meshd does not end"
}

meshd_kill() { pkill -KILL -x meshd || true; meshd_gone; }
meshd_stop() { pkill -TERM -x meshd || true; meshd_gone; }

# until SECONDS COMMAND...: it succeeds within that time
until_true() {
	local i n=$(($1 * 5)); shift
	for ((i = 0; i < n; i++)); do
		"$@" && return
		sleep 0.2
	done
	fail "never true: $*"
}

answers_up() {
	mkdir -p /run/answers
	# Its lock says that it lives. It holds none of this case's files.
	flock -n /run/answers/alive true || return 0
	rm -f /run/answers/{in,out}
	mkfifo /run/answers/{in,out}
	setsid flock -o /run/answers/alive "$LAB_TOP/tests/lab/guest/answers" </dev/null >/run/answers/log 2>&1 &
	until_true 60 answers_alive
}
answers_alive() { ! flock -n /run/answers/alive true; }

# json FILTER COMMAND...: what a Python expression over its --json result gives
json() {
	local filter=$1 token=$BASHPID.$RANDOM document said=; shift
	document=$("$@" --json) || :
	{
		flock 9
		printf '\036%s\036%s\036%s\0' "$token" "$filter" "$document" >/run/answers/in
		until [ "${said%% *}" = "$token" ]; do
			IFS= read -r -d '' -t 60 said || { echo "no answer to $filter: $(</run/answers/log)" >&2; return 1; }
		done </run/answers/out
	} 9>/run/answers/lock
	said=${said#* }
	[ "${said%% *}" = ok ] || { echo "$filter: $said: $document" >&2; return 1; }
	printf '%s\n' "${said#* }"
}

# Times of groups that a case need not wait for; the next case has those from before.
short_times() {
	params=/sys/module/meshblk/parameters
	was_timeout=$(<$params/member_timeout_ms) was_wait=$(<$params/attach_wait_ms)
	trap 'echo "$was_timeout" >$params/member_timeout_ms; echo "$was_wait" >$params/attach_wait_ms' EXIT
	echo 3000 >$params/member_timeout_ms
	echo 5000 >$params/attach_wait_ms
}

free_bytes() { json 'sum(d["free"] for d in r["drives"])' meshctl drive list; }
extents() { json 'sum(d["extents"] for d in r["drives"])' meshctl drive list; }
no_extents() { [ "$(extents)" = 0 ]; }
# A host that has a state folder of its own, and not the lab's, uses its own drives from now on.
add_self() { meshctl host add "$LAB_ADDR"; }
host_up() { [ "$(json 'all(h["state"] == "up" for h in r["hosts"])' meshctl host list)" = True ]; }
state_of() { json "[v['state'] for v in r['volumes'] if v['name'] == '$1']" meshctl volume list; }

# meshd dies at a step of a verb, by its crash points, and starts again. The volume is attached all the time.
killed_at() { # STEP VOLUME VERB...
	local step=$1 v=$2; shift 2
	rm -f /run/die-at
	meshd_stop
	meshd_up "$LAB_TOP/build/test-bin/meshd" --die-at /run/die-at
	until_true 40 host_up
	until_true 60 is_attached "$v"
	echo "$step" >/run/die-at
	if meshctl "$@" >/run/said 2>&1; then fail "step $step: nothing died"; fi
	[ ! -e /run/die-at ] || fail "step $step: nothing died: $(cat /run/said)"
	meshd_gone
	meshd_up
	until_true 60 is_attached "$v"
}

# What meshd notes of a mirror equals what the group has: attach, epoch, in sync.
noted() { # VOLUME
	/usr/bin/python3 -I -S - "/var/lib/meshd/rosters/$(json 'r["uuid"]' meshctl volume show "$1").0" \
		"$(groups_of "$1" '(groups[0]["attach"], groups[0]["version"], sum(1 << i for i, m in enumerate(groups[0]["members"]) if m["role"] == "in sync"))')" <<-'P'
	import struct, sys
	note = open(sys.argv[1], "rb").read()
	found = struct.unpack_from("<QQQ", note, 48 + 8)
	if str(found) != sys.argv[2]:
	    sys.exit(f"noted: {found}, the group has {sys.argv[2]}")
	P
}

answers_up
