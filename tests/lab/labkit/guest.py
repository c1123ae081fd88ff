# SPDX-License-Identifier: GPL-2.0-only
"""One QEMU guest: its folder, its command line, its life."""
import hashlib
import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import time

from . import accel, costs, image, kernel, volatile
from .common import LAB, TOP, LabError, compiled, die_with_parent
from .qmp import Qmp

# no_timer_check: on a busy host no timer tick may come while the kernel waits for one.
CMDLINE = ("console=ttyS0 panic=-1 quiet mitigations=off oops=panic "
           "sysrq_always_enabled rcupdate.rcu_cpu_stall_timeout=100 "
           "net.ifnames=0 random.trust_cpu=on watchdog_thresh=60 no_timer_check "
           "cryptomgr.notests "
           # The drives are files: while the disk below them is busy, a command may take as
           # long as it likes. After a timeout the driver would reset and remove the drive.
           "nvme_core.io_timeout=600 nvme_core.admin_timeout=600 "
           # nvmekick.c
           "iomem=relaxed")


class Drive:
    """An emulated drive and the file behind it."""

    def __init__(self, path, lba=512, gone=False):
        self.path = path
        self.lba = lba
        self.gone = gone                # unplugged


class Guest:
    """What to boot. `folder` holds all that belongs to it while it runs."""

    def __init__(self, name, folder, which="6.12"):
        self.name = name
        self.folder = folder
        self.kernel_name = which
        self.kernel = kernel.find(which)
        self.cpus = 2
        self.mem = "2G"
        self.drives = []
        self.icount = False
        self.plugin = None              # of TCG: "FILE.so,ARG=VALUE"
        self.append = ""
        self.addr = "10.77.0.1"
        self.tap = None                 # (interface, mac)
        self.netns = None
        self.state_disk = None
        self.volatile = False           # drives have a cache that a cut loses
        self.drive_bus = "nvme"         # or "scsi"
        self.ports = 1
        self.extra_modules = []
        self.faults = False             # our modules with fault points
        self.systemd = False            # process 1 is systemd
        self.rxe = True
        self.rxe_params = ""
        self.env = {}
        self.accel = None               # None: the best that works
        self.proc = None
        self.detach = False             # a guest of `lab up` outlives its parent

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    @property
    def console(self):
        return self.path("console.log")

    def port(self, n=0):
        return self.path(f"port{n}.sock")

    def prepare(self):
        """Write the files that the guest needs to boot."""
        os.makedirs(self.path("run"), exist_ok=True)
        self.tree = kernel.tree(self.kernel, self.extra_modules, self.faults)
        image.initramfs(self.kernel, self.path("initramfs"))
        shutil.copy(os.path.join(LAB, "guest/stage2"), self.path("run/stage2"))
        env = {
            "LAB_TOP": TOP,
            "LAB_HOSTNAME": self.name,
            "LAB_MACHINE_ID": hashlib.md5(f"{TOP} {self.name}".encode()).hexdigest(),
            "LAB_PORTS": self.ports,
            "LAB_ADDR": self.addr,
            "LAB_NETDEV": "eth0" if self.tap else "d0",
            "LAB_RXE": "1" if self.rxe else "",
            "LAB_RXE_PARAMS": self.rxe_params,
            "LAB_DRIVES": sum(not d.gone for d in self.drives),
            "LAB_STATE_DISK": "1" if self.state_disk else "",
            "LAB_HUNG_SECS": 240,
            # One thread emulates all of an icount guest, whose instructions are counted.
            "LAB_KICK": "" if self.icount else compiled(
                os.path.join(LAB, "guest/nvmekick.c"), "nvmekick"),
            "LAB_SYSTEMD": "1" if self.systemd else "",
            **self.env,
        }
        with open(self.path("run/env"), "w", encoding="utf-8") as f:
            for k, v in env.items():
                f.write(f"export {k}={shlex.quote(str(v))}\n")

    def argv(self):
        a = ["qemu-system-x86_64", "-name", f"meshlab-{self.name}",
             "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
             "-machine", "q35", "-m", self.mem, "-smp", str(self.cpus),
             "-kernel", self.kernel.image, "-initrd", self.path("initramfs"),
             "-append", self._cmdline(),
             "-chardev", f"socket,id=con,path={self.path('console.sock')},"
                         f"server=on,wait=off,logfile={self.console},logappend=on",
             "-serial", "chardev:con",
             "-qmp", f"unix:{self.path('qmp.sock')},server=on,wait=off",
             "-device", "virtio-rng-pci"]
        a += self._accel()
        if self.plugin:
            a += ["-plugin", f"file={self.plugin},dir={self.path('run')}"]
        for tag, path, ro in (("host", "/", "on"), ("tree", self.tree, "on"),
                              ("run", self.path("run"), "off")):
            a += ["-virtfs", f"local,path={path},mount_tag={tag},"
                  f"security_model=none,readonly={ro},multidevs=remap"]
        a += ["-device", "virtio-serial-pci"]
        for n in range(self.ports):
            a += ["-chardev", f"socket,id=p{n},path={self.port(n)},server=on,wait=off",
                  "-device", f"virtserialport,chardev=p{n},name=lab.{n}"]
        return a + self._drives() + self._net()

    def _cmdline(self):
        words = [CMDLINE]
        if self.kernel_name == "debug":
            # While the boot CPU is probed, 5-level page tables seem to be
            # off, and KASAN takes an interrupt's accesses for wild ones.
            words.append("no5lvl")
        if self.icount:
            # With idle vCPUs the instruction clock would jump to the next timer.
            words.append("idle=poll clearcpuid=rep_good,erms")
        return " ".join(words + [self.append])

    def _accel(self):
        if self.icount:
            return ["-accel", "tcg,thread=single,tb-size=1024",
                    "-icount", "shift=0,sleep=off", "-cpu", "max"]
        if (self.accel or accel.best(self.kernel)) == "kvm":
            return ["-accel", "kvm", "-cpu", "host"]
        # QEMU 7.2 leaves rubbish in EFLAGS after cmpxchg16b. An interrupt there and
        # then saves and restores it, VM bit and all: the kernel dies in its slab
        # allocator, which is what uses that instruction where the CPU has it.
        # PCLMULQDQ is a loop over bits there: CRCs are several times faster without it
        # (and AES has code of its own that expects it).
        return ["-accel", "tcg,thread=multi,tb-size=512", "-cpu", "max,-cx16,-pclmulqdq,-vpclmulqdq,-aes,-vaes"]

    def _drives(self):
        a = []
        if self.drive_bus == "scsi":
            a += ["-device", "virtio-scsi-pci,id=scsi"]
        for n, d in enumerate(self.drives):
            if self.drive_bus == "nvme":
                a += ["-device", f"pcie-root-port,id=rp{n},chassis={n + 1},slot={n + 1}"]
            a += ["-blockdev", json.dumps(self._node(n))]
            if not d.gone:
                a += ["-device", json.dumps(self.drive_device(n))]
        if self.state_disk:
            a += ["-drive", f"file={self.state_disk},format=raw,cache=unsafe,"
                            "if=none,id=state",
                  "-device", "virtio-blk-pci,drive=state,serial=state"]
        return a

    def _node(self, n):
        """What is behind drive n."""
        d = self.drives[n]
        if self.volatile:
            return {"driver": "nbd", "node-name": f"d{n}", "discard": "unmap",
                    "server": {"type": "unix", "path": volatile.socket_of(d)}}
        return {"driver": "raw", "node-name": f"d{n}", "discard": "unmap",
                "cache": {"no-flush": True},
                "file": {"driver": "file", "filename": d.path, "discard": "unmap",
                         "cache": {"no-flush": True}}}

    def drive_device(self, n):
        """The device of drive n, as -device and QMP's device_add want it."""
        d = self.drives[n]
        dev = {"id": f"drive{n}", "drive": f"d{n}", "serial": f"LAB-{self.name}-{n}",
               "logical_block_size": d.lba, "physical_block_size": d.lba}
        if self.drive_bus == "scsi":
            return {"driver": "scsi-hd", "bus": "scsi.0", "lun": n, **dev}
        return {"driver": "nvme", "bus": f"rp{n}", **dev}

    def _net(self):
        if not self.tap:
            return []
        ifname, mac = self.tap
        return ["-netdev", f"tap,id=net0,ifname={ifname},script=no,downscript=no",
                "-device", f"virtio-net-pci,netdev=net0,mac={mac},host_mtu=9000"]

    def start(self):
        """Start QEMU; it dies with this process unless `detach` is set."""
        self.prepare()
        volatile.start(self)
        argv = self.argv()
        if self.netns:
            argv = ["ip", "netns", "exec", self.netns] + argv
        with open(self.path("qemu.log"), "ab") as log:
            self.proc = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True,
                preexec_fn=None if self.detach else die_with_parent)
        with open(self.path("pid"), "w", encoding="ascii") as f:
            f.write(str(self.proc.pid))

    def pid(self):
        """Of its QEMU, if that runs; also one that an earlier lab started."""
        if self.proc is not None:
            return self.proc.pid if self.proc.poll() is None else None
        try:
            with open(self.path("pid"), encoding="ascii") as f:
                pid = int(f.read())
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                return pid if self.folder.encode() in f.read() else None
        except (FileNotFoundError, ValueError, ProcessLookupError):
            return None

    def alive(self):
        return self.pid() is not None

    def qmp(self):
        return Qmp(self.path("qmp.sock"))

    def quit(self):
        """End QEMU in order, its drive files complete."""
        if not self.alive():
            return
        try:
            with self.qmp() as q:
                q("quit")
            self._gone(10)
        except (LabError, OSError):
            pass
        self.kill()

    def kill(self):
        """The power cut of a machine."""
        pid = self.pid()
        if pid:
            if self.detach:
                costs.note("end", costs.of_process(pid))
            os.kill(pid, signal.SIGKILL)
            self._gone(30)

    def _gone(self, seconds):
        end = time.monotonic() + seconds
        while self.alive():
            if time.monotonic() > end:
                raise LabError(f"{self.name}: QEMU does not end")
            time.sleep(0.02)

    def qemu_said(self):
        try:
            with open(self.path("qemu.log"), encoding="utf-8", errors="replace") as f:
                return f.read().strip()
        except FileNotFoundError:
            return ""

    def dump_tasks(self):
        """Query a guest that hangs, by SysRq over its serial line: what it
        waits for; the answer is in the console log."""
        try:
            with socket.socket(socket.AF_UNIX) as con, self.qmp() as q:
                con.connect(self.path("console.sock"))
                for key in (b"9", b"w", b"l"):
                    q("chardev-send-break", id="con")
                    time.sleep(0.3)
                    con.sendall(key)
                    time.sleep(1.0)
                time.sleep(2)
        except (OSError, LabError):
            pass
