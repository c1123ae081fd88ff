# shellcheck shell=bash disable=SC2034,SC2154
# SPDX-License-Identifier: GPL-2.0-only
# For cases about groups whose members' drives fail and are exchanged, $level over ${members[@]}.

# shellcheck source=tests/cases/lib/group.sh
. "$(dirname "${BASH_SOURCE[0]}")/group.sh"

# Drives that can be made to fail: /dev/mapper/mI is the first SIZE MiB of drive I.
drives_up() { # SIZE DRIVES
	drive_sectors=$(($1 << 11)) drives=$2
	modprobe dm_mod
	trap 'vol_cleanup; drives_down' EXIT
}
drives_down() { local i; for ((i = 0; i < drives; i++)); do dmsetup remove "m$i" 2>/dev/null || :; done; }
drive() { # I linear|error: what is behind it
	local table="0 $drive_sectors error"
	[ "$2" = error ] || table="0 $drive_sectors linear /dev/nvme$1n1 0"
	if [ -e "/dev/mapper/m$1" ]; then
		dmsetup suspend "m$1"; dmsetup load "m$1" --table "$table"; dmsetup resume "m$1"
	else
		dmsetup create "m$1" --table "$table"
	fi
}
# A member of drive I that is a new extent: its records read as zeroes, its data is what it was.
uses=0
extent() { # I; sets x
	dd if=/dev/zero of="/dev/nvme$1n1" bs=1M count=16 oflag=direct status=none
	uses=$((uses + 1))
	x=$(printf 'bdev:/dev/mapper/m%d:%dM@51515151-0000-4000-8000-0000%08x' "$1" $((drive_sectors >> 11)) $uses)
}

epoch=0
layout() { # OPTIONS...
	epoch=$((epoch + 1))
	blkctl make -e $epoch -l "$level" -s 16k -t 20000 "$@" "${members[@]}" >/tmp/made || { cat /tmp/made; return 1; }
}
content() { dd if=/dev/mesh0 bs=1M count=8 iflag=direct status=none | md5sum; }
io() { verify /dev/mesh0 --rw=randrw --bs=4k --iodepth=8 --size=8M --io_size=4M --randseed="$1" "${@:2}"; }
same() { [ "$(content)" = "$now" ] || fail "the content differs: $1"; }
out() { # I: it gets errors, and is out
	drive "$1" error
	dd if=/dev/zero of=/dev/mesh0 bs=64k count=8 seek=512 oflag=direct status=none
}
