# SPDX-License-Identifier: GPL-2.0-only
"""Drives that lose unflushed writes: one nbdkit with nbd-volatile.c each."""
import os
import signal
import subprocess
import time

from .common import LAB, BootFailed, compiled, die_with_parent, pressure


def plugin():
    """The plugin, compiled when its source is newer."""
    return compiled(os.path.join(LAB, "nbd-volatile.c"), "nbd-volatile.so", "-fPIC", "-shared")


def socket_of(drive):
    return drive.path + ".sock"


def _pid(drive):
    try:
        with open(drive.path + ".pid", encoding="ascii") as f:
            pid = int(f.read())
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            return pid if drive.path.encode() in f.read() else None
    except (FileNotFoundError, ValueError, ProcessLookupError):
        return None


def start(guest):
    """Serve the drives of a guest that are not served yet."""
    for d in guest.drives if guest.volatile else ():
        if _pid(d):
            continue
        for stale in (socket_of(d), d.path + ".pid"):
            if os.path.exists(stale):
                os.unlink(stale)
        seed = int.from_bytes(os.urandom(4), "big")
        with open(d.path + ".nbdkit", "ab") as log:
            # nbdkit -f ends with its parent; behind setsid -f that is process 1
            process = subprocess.Popen(
                (["setsid", "-f"] if guest.detach else []) +
                ["nbdkit", "-f", "-U", socket_of(d), "-P", d.path + ".pid", plugin(),
                 f"file={d.path}", f"sector={d.lba}", f"seed={seed}",
                 f"log={d.path}.cuts"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True,
                preexec_fn=None if guest.detach else die_with_parent)
        _await(d, process, not guest.detach)


def _await(drive, process, ours):
    """
    Until nbdkit serves, or has ended. A busy disk has kept one for minutes in its first
    write; like a boot that fails this is the machine's doing, and the case is run again.
    """
    until = time.monotonic() + 300
    while not (_pid(drive) and os.path.exists(socket_of(drive))):
        ended = process.poll()
        if (ended is not None and (ours or ended)) or time.monotonic() > until:
            with open(drive.path + ".nbdkit", encoding="utf-8", errors="replace") as f:
                raise BootFailed(f"nbdkit did not start, status {ended}: {f.read()[-500:]}; "
                                 + pressure())
        time.sleep(0.05)


def cut(guest):
    """Power is gone: what was not flushed is lost, but for luck."""
    for d in guest.drives if guest.volatile else ():
        pid = _pid(d)
        if pid:
            os.kill(pid, signal.SIGUSR1)


def stop(guest):
    for d in guest.drives if guest.volatile else ():
        pid = _pid(d)
        if not pid:
            continue
        os.kill(pid, signal.SIGKILL)
        while _pid(d):
            time.sleep(0.01)
