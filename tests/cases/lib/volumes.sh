# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# What cases do with drives and volumes, where the words of meshctl, or of its JSON, are no part of
# what is tested: they are here alone. A case of one guest does it there, one of several nodes on node 1.
#
#   mesh VERB...             meshctl there
#   create NAME OPTION...    a volume, attached; prints its device
#   create_detached NAME OPTION...   a volume that no host has
#   drop VOLUME...           a volume goes with what is on it, also one that is attached and not used
#   lose DRIVE               its host exports it no more, although volumes use it
#   regain DRIVE             its host exports it again, with all that is on it
#   serving                  the devices of the drives that answer, as a list of Python
#   is_attached VOLUME       it is here, and works
#   groups_of VOLUME EXPRESSION   Python, of the groups of a volume that is attached: groups, as the kernel has them
#   role VOLUME MEMBER       of a member in its group
#   role_is VOLUME MEMBER ROLE

mesh() { if [ -n "${LAB:-}" ]; then on 1 meshctl "$@"; else meshctl "$@"; fi; }

create() { mesh volume create "$@"; }
create_detached() { mesh volume create "$@" --no-attach; }
drop() {
	local each
	for each; do mesh volume delete "$each" --force || return; done
}

lose() { mesh drive unexport "$1" --force --preempt; }
regain() { mesh drive export "$1"; }
serving() { json "[d['path'] for d in r['drives'] if d['state'] == 'up']" mesh drive list; }

is_attached() { [ "$(json "[v['state'] for v in r['volumes'] if v['name'] == '$1']" mesh volume list)" = "['active']" ]; }
groups_of() { json "(lambda groups: $2)(r['groups'])" mesh volume show "$1"; }
role() { groups_of "$1" "[m['role'] for g in groups for m in g['members'] if m['index'] == $2][0]"; }
role_is() { [ "$(role "$1" "$2")" = "$3" ]; }
