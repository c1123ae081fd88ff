# SPDX-License-Identifier: GPL-2.0-only
"""What the benches measure, in one guest: Meshblk, nvme-rdma, md over nvme-rdma."""
import json
import os
import subprocess
import sys
import time

ADDR = "10.77.0.1"
NQN = "nqn.2020-01.meshblk.bench"
SUBSYSTEM = f"/sys/kernel/config/nvmet/subsystems/{NQN}"
PORT = "/sys/kernel/config/nvmet/ports/1"


def sh(cmd, check=True):
    r = subprocess.run(cmd, shell=True, text=True, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT)
    if check and r.returncode:
        sys.exit(f"bench: {cmd}: {r.returncode}\n{r.stdout}")
    return r.stdout.strip()


def put(path, value):
    with open(path, "w", encoding="ascii") as f:
        f.write(str(value))


def wait_for(what, seconds, function):
    """Guest time runs on while the host is busy, so patience costs nothing."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = function()
        if found:
            return found
        time.sleep(0.05)
    return sys.exit(f"bench: {what}: not within {seconds} s")


def ram_drives(n):
    """brd: ends each I/O at once, and so in the order of submission."""
    sh(f"modprobe brd rd_nr={n} rd_size=262144")
    return [f"/dev/ram{i}" for i in range(n)]


def late_drive(name, ram, least_us, most_us):
    """Over a RAM drive; each I/O ends after a time by chance (tests/kmod/dm-late.c)."""
    sh("modprobe dm-late")
    sh(f"dmsetup create {name} --table "
       f"\"0 $(blockdev --getsz {ram}) late {ram} {least_us} {most_us}\"")
    return os.path.realpath(f"/dev/mapper/{name}")


def late_times(name, least_us, most_us):
    sh(f"dmsetup message {name} 0 {least_us} {most_us}")


def fill(dev, mib):
    """An unwritten RAM drive answers from nothing."""
    sh(f"dd if=/dev/zero of={dev} bs=1M count={mib} oflag=direct status=none")


class Nvmet:
    """One subsystem with a namespace a drive, as one session of Meshblk has them all.

    tuned: single pages need no registration, and 16 KiB travel with the command.
    """

    def __init__(self, backings, tuned=False):
        sh("modprobe nvmet; modprobe nvmet-rdma; modprobe nvme-rdma register_always=" +
           ("N" if tuned else "Y"))
        sh("mountpoint -q /sys/kernel/config || mount -t configfs configfs /sys/kernel/config")
        os.mkdir(SUBSYSTEM)
        put(f"{SUBSYSTEM}/attr_allow_any_host", 1)
        self.names = range(1, len(backings) + 1)
        for n, backing in zip(self.names, backings):
            os.mkdir(f"{SUBSYSTEM}/namespaces/{n}")
            put(f"{SUBSYSTEM}/namespaces/{n}/device_path", backing)
            put(f"{SUBSYSTEM}/namespaces/{n}/enable", 1)
        os.mkdir(PORT)
        for k, v in (("addr_trtype", "rdma"), ("addr_adrfam", "ipv4"),
                     ("addr_traddr", ADDR), ("addr_trsvcid", "4420")):
            put(f"{PORT}/{k}", v)
        if tuned:
            put(f"{PORT}/param_inline_data_size", 16384)
        os.symlink(SUBSYSTEM, f"{PORT}/subsystems/{NQN}")
        before = self._disks()
        sh(f"nvme connect -t rdma -a {ADDR} -s 4420 -n {NQN}")
        found = wait_for("nvme-rdma's namespaces", 100, lambda:
                         len(self._disks() - before) == len(backings) and
                         self._disks() - before)
        # by namespace: the kernel scans several at once, and numbers disks as they answer
        self.devices = ["/dev/" + d for d in sorted(found, key=self._nsid)]

    @staticmethod
    def _nsid(disk):
        with open(f"/sys/block/{disk}/nsid", encoding="ascii") as f:
            return int(f.read())

    @staticmethod
    def _disks():
        # nvme0c0n1, one path of nvme0n1, has no device
        return {d for d in os.listdir("/sys/block")
                if d.startswith("nvme") and os.path.exists("/dev/" + d)}

    def remove(self, n):
        """The drive of namespace n is gone."""
        put(f"{SUBSYSTEM}/namespaces/{n}/enable", 0)

    def down(self):
        sh(f"nvme disconnect -n {NQN}")
        os.unlink(f"{PORT}/subsystems/{NQN}")
        os.rmdir(PORT)
        for n in self.names:
            put(f"{SUBSYSTEM}/namespaces/{n}/enable", 0)
            os.rmdir(f"{SUBSYSTEM}/namespaces/{n}")
        os.rmdir(SUBSYSTEM)
        sh("modprobe -r nvme-rdma nvmet-rdma nvmet", check=False)


class Md:
    """An array over drives that are all zeroes, and so in sync. mib: of each drive."""

    def __init__(self, name, level, drives, mib, options=""):
        self.dev, self.drives = f"/dev/md/{name}", list(drives)
        size = f"--size={mib}M" if level != "0" else ""
        clean = "--assume-clean" if level != "0" else ""
        sh(f"yes | mdadm --create {self.dev} --metadata=1.2 --level={level} "
           f"--raid-devices={len(drives)} {size} {clean} {options} {' '.join(drives)}")
        self.dev = os.path.realpath(wait_for(self.dev, 30, lambda: os.path.exists(self.dev) and
                                             self.dev))
        self.name = os.path.basename(self.dev)
        # no background work of its own while rows run, as much as it can when there is some
        for limit in ("min", "max"):
            put(f"/proc/sys/dev/raid/speed_limit_{limit}", 2000000)

    def fail(self, drive):
        sh(f"mdadm {self.dev} --fail {drive}")
        wait_for("mdadm --remove", 30, lambda: not subprocess.run(
            ["mdadm", self.dev, "--remove", drive], capture_output=True, check=False).returncode)

    def add(self, drive):
        """As a new one: nothing on it counts."""
        sh(f"mdadm --zero-superblock {drive}; mdadm {self.dev} --add {drive}")

    def idle(self):
        with open(f"/sys/block/{self.name}/md/sync_action", encoding="ascii") as f:
            return f.read().strip() == "idle"

    def whole(self):
        with open(f"/sys/block/{self.name}/md/degraded", encoding="ascii") as f:
            return int(f.read()) == 0 and self.idle()

    def down(self):
        sh(f"mdadm --stop {self.dev}")
        for d in self.drives:
            sh(f"mdadm --zero-superblock {d}", check=False)


class Mesh:
    """meshd, the drives exported, volumes."""

    def __init__(self, drives):
        os.makedirs("/var/lib/meshd", exist_ok=True)
        with open("/run/meshd.log", "wb") as log:
            subprocess.Popen(["meshd"], stdout=log, stderr=log, start_new_session=True)
        wait_for("meshd", 100, lambda: not subprocess.run(
            ["meshctl", "version"], capture_output=True, check=False).returncode)
        sh(f"meshctl host add {ADDR}")
        for dev in drives:
            self.export(dev)

    def export(self, drive):
        sh(f"meshctl drive export --force --erase-label {drive}")

    def unexport(self, drive):
        sh(f"meshctl drive unexport {drive} --force --preempt")

    def volume(self, name, layout, mib, drives):
        """Returns its device; in sync, as new extents are zeroed."""
        domain = "" if layout.split(":")[0] in ("linear", "stripe") else "--domain drive"
        said = sh(f"meshctl volume create {name} --size {mib}M --layout {layout} {domain} "
                  f"--drives {','.join(drives)}")
        sh(f"meshctl volume wait {name}")
        return said.split()[-1]

    def show(self, name):
        return json.loads(sh(f"meshctl volume show {name} --json"))

    def drive_of(self, name, member):
        """The device of a member's drive."""
        uuid = self.show(name)["members"][member]["drive"]
        drives = json.loads(sh("meshctl drive list --json"))["drives"]
        return os.path.realpath(next(d["path"] for d in drives if d["uuid"] == uuid))

    def out(self, name, member):
        """Whether the group goes on without it: then it can be replaced."""
        return any(m["role"] == "out" for g in self.show(name)["groups"] for m in g["members"]
                   if m["index"] == member)

    def delete(self, name):
        sh(f"meshctl volume delete {name} --force")

    @staticmethod
    def stats():
        """The client's own counters, of all its sessions."""
        total = {}
        for t in json.loads(sh("meshctl stats --json")).get("targets", []):
            for k, v in t.get("stats", {}).items():
                if isinstance(v, int):
                    total[k] = total.get(k, 0) + v
        return total
