# SPDX-License-Identifier: GPL-2.0-only
"""`lab run`: one guest, one script, one verdict."""
import os
import shutil
import sys
import tempfile
import time

from . import chaos, flakes, volatile, warnings
from .channel import Command, GuestGone, Timeout
from .common import (GUESTS, LAB, LOGS, STATUS_BOOT, STATUS_GUEST, STATUS_WARNED, LabError, say,
                     size)
from .guest import Drive, Guest

# What the guest has for itself; the host's is seen below /run/host there.
SHADOWED = ("/tmp/", "/run/", "/var/run/", "/dev/", "/proc/", "/sys/")


def guest_path(path):
    """Where a file of the host is seen in a guest."""
    path = os.path.abspath(path)
    return "/run/host" + path if path.startswith(SHADOWED) else path


def add_drives(guest, folder, args):
    for n in range(args.drives):
        path = os.path.join(folder, f"drive{n}.img")
        with open(path, "wb") as f:
            f.truncate(size(args.drive_size))
        guest.drives.append(Drive(path, args.lba))


def drive_bus(args):
    """QEMU's NVMe drops FUA, so drives where that matters are SCSI."""
    return args.drive_bus or ("scsi" if args.volatile_drives else "nvme")


def make_guest(folder, args):
    g = Guest("lab", folder, args.kernel)
    g.cpus = 1 if args.icount else args.cpus
    g.mem = args.mem if args.mem[-1].isalpha() else args.mem + "G"
    g.icount = args.icount
    g.plugin = args.plugin
    if args.plugin:
        g.accel = "tcg"
    g.append = args.append
    if args.leaks:
        g.append += " kmemleak=on"
    g.volatile = args.volatile_drives
    g.drive_bus = drive_bus(args)
    g.faults = args.faults
    g.systemd = args.systemd
    g.extra_modules = [os.path.abspath(m) for m in args.module]
    if args.chaos is not None:
        g.extra_modules.append(chaos.module(g.kernel))
        g.rxe_params = f"chaos={args.chaos_bits} chaos_pct={args.chaos}"
    add_drives(g, folder, args)
    return g


def keep_log(guest, name):
    """Move the console log to build/lab, where it outlives the run."""
    os.makedirs(LOGS, exist_ok=True)
    base = os.path.basename(name)
    dst = os.path.join(LOGS, f"{time.strftime('%H%M%S')}-{base}-"
                             f"{guest.kernel.release}-{os.getpid()}.console")
    if os.path.exists(guest.console):
        shutil.copy(guest.console, dst)
    return dst


def keep_results(guest, folder):
    """What the script left, in place of what an earlier one did."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(guest.path("run/results"), exist_ok=True)
    shutil.copytree(guest.path("run/results"), folder)


def died_in_patching(console):
    """True if an emulated CPU died in the kernel's own code patching."""
    return flakes.judged(flakes.Kind.BOOT, warnings.find(console)) is flakes.Kind.PATCHED


def verdict(guest, name, status, why, begun, quiet=False):
    """Apply the gate; returns the exit status and prints what failed."""
    bad = warnings.find(guest.console)
    if not bad and not why:
        if status or not quiet:
            log = keep_log(guest, name) if status else None
            say(f"exit status {status}" + (f", console log {log}" if log else ""))
        return status
    log = keep_log(guest, name)
    if why:
        say(why)
    if bad:
        say(f"the kernel said {len(bad)} thing(s) that fail the run:")
        for line in bad[:8]:
            say("  " + line)
    said = guest.qemu_said()
    if said:
        say("QEMU said: " + said[-500:])
    say(f"console log: {log}")
    if why:
        return STATUS_GUEST if begun else STATUS_BOOT
    return status or STATUS_WARNED


def _once(folder, args, argv):
    """Boot and run; returns (guest, status, why, begun)."""
    guest = make_guest(folder, args)
    deadline = time.monotonic() + args.timeout
    cmd = Command(guest.port(), argv, cwd=guest_path(os.getcwd()),
                  want_tty=args.tty, stdin=0 if args.tty or args.stdin else None)
    status, why = 0, None
    try:
        guest.start()
        if args.pid_file:
            shutil.copy(guest.path("pid"), args.pid_file)
        if not args.quiet:
            say(f"booting Linux {guest.kernel.release}")
        status = cmd.run(deadline, min(deadline, time.monotonic() + args.boot_timeout),
                         guest.alive)
        time.sleep(0.3)                 # last words of the kernel
    except GuestGone:
        time.sleep(0.2)
        why = "the guest died" + ("" if cmd.begun else " before the script began")
    except Timeout:
        guest.dump_tasks()
        why = f"no end after {args.timeout:.0f} s" if cmd.begun else (
            f"the guest did not come up within {min(args.timeout, args.boot_timeout):.0f} s "
            "(--boot-timeout)")
    finally:
        guest.quit()
        volatile.stop(guest)
    if args.results:
        keep_results(guest, args.results)
    return guest, status, why, cmd.begun


def run(args):
    script = args.command[0]
    argv = [guest_path(script)] + args.command[1:]
    if not os.path.isfile(script):
        if shutil.which(script) is None or "/" in script:
            raise LabError(f"{script}: no such file")
        argv[0] = script
    elif not os.access(script, os.X_OK):
        raise LabError(f"{script} is not executable")
    if args.mesh:
        argv = ["/bin/sh", "-c", '"$0" && exec "$@"',
                os.path.join(LAB, "guest/mesh-up")] + argv
    if args.leaks:
        argv.insert(0, os.path.join(LAB, "guest/leakcheck"))
    for attempt in (1, 2):
        folder = tempfile.mkdtemp(prefix="meshlab-run-", dir=GUESTS)
        try:
            guest, status, why, begun = _once(folder, args, argv)
            if why and not begun and attempt == 1 and died_in_patching(guest.console):
                # That says nothing about the script.
                keep_log(guest, script)
                say(f"{why}; once more")
                continue
            if args.console and os.path.exists(guest.console):
                shutil.copy(guest.console, args.console)
            return verdict(guest, script, status, why, begun, args.quiet)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return STATUS_GUEST
