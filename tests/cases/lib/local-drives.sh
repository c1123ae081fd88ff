# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: GPL-2.0-only
# For cases about local drives: volume l, and NVMe devices that are pulled and plugged in.

# shellcheck source=tests/lab/guest/userspace.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../lab/guest/userspace.sh"
params=/sys/module/meshblk/parameters
other=11111111-2222-4333-8444-555555555555

# Other cases may run in this boot.
was_timeout=$(cat $params/member_timeout_ms) was_wait=$(cat $params/attach_wait_ms)
settings() { echo 3000 >$params/member_timeout_ms; echo 5000 >$params/attach_wait_ms; }
settings_back() { echo "$was_timeout" >$params/member_timeout_ms; echo "$was_wait" >$params/attach_wait_ms; }
settings

# As create(), over local drives, too: --drive bdev:DEVICE, as often as it takes.
make() { create "$@"; }
health_is() { [ "$(json 'r["health"]' meshctl volume show l)" = "$1" ]; }
device() { json 'r["device"]' meshctl volume show "$1"; }
sum() { dd if="$(device l)" bs=1M count=32 iflag=direct status=none | md5sum; }
same() { [ "$(sum)" = "$was" ] || fail "other data: $1"; }
put() { dd if=/dev/urandom of="$(device l)" bs=1M count=8 seek="$1" oflag=direct status=none; was=$(sum); }
locals() { json "' '.join(sorted(d['path'] for d in r['drives'] if d['state'] == 'local'))" meshctl drive list; }
locals_are() { [ "$(locals)" = "$1" ]; }
drive_at() { json "[d['uuid'] for d in r['drives'] if d['path'] == '$1'][0]" meshctl drive list; }
unlabelled() { [ -z "$(head -c 1M "$1" | tr -d '\0')" ]; }

# Whether something has a device open alone.
alone() { ! /usr/bin/python3 -I -S -c "import os; os.open('$1', os.O_RDONLY | os.O_EXCL)" 2>/dev/null; }

# refused_by_kernel DEVICE UUID: it is not that drive, says the kernel that has opened it.
refused_by_kernel() {
	local said
	said=$(blkctl make -u $other -n x "bdev:$1:64M:$2" 2>&1) && fail "$1 was taken as drive $2: $said"
	[[ "$said" = *"it is another one"* ]] || fail "refused otherwise: $said"
}

# Names change, places do not.
slot() { basename "$(realpath "/sys/block/$(basename "$1")/device/device")"; }
at() { echo "/dev/$(cd "/sys/bus/pci/devices/$1/nvme" && echo nvme*/nvme*n[0-9] | sed 's,.*/,,')"; }
pull() { echo "$1" >/sys/bus/pci/drivers/nvme/unbind; }
plug() {
	echo "$1" >/sys/bus/pci/drivers/nvme/bind
	until_true 20 test -e "/sys/bus/pci/devices/$1/nvme"
	until_true 20 eval "test -b \"\$(at $1)\""
}
# Other cases may run in this boot. A name is free once nothing has the device open.
name_back() { # SLOT DEVICE
	local i
	for ((i = 0; i < 10; i++)); do
		udevadm settle
		pull "$1"
		plug "$1"
		[ "$(at "$1")" != "$2" ] || return 0
	done
	fail "$2 is $(at "$1") now"
}
