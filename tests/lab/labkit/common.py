# SPDX-License-Identifier: GPL-2.0-only
"""Paths, messages, and processes that never outlive the lab."""
import ctypes
import fcntl
import os
import signal
import subprocess
import sys

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "../../.."))
LAB = os.path.join(TOP, "tests/lab")
BUILD = os.path.join(TOP, "build")
LOGS = os.path.join(BUILD, "lab")

# Files of a run of cases; guests read scripts there.
TMP = os.environ.get("MESH_TMP", "/var/tmp")

GIB = 1 << 30
SHM = "/dev/shm"
MEMORY_FOR_IMAGES = 20 * GIB    # of the machine, and a third of it for files


def _for_guests():
    """
    The folder of guests' folders: drives, consoles, sockets (whose paths must be short). In
    memory, where there is plenty: a disk that is busy with the images of some guests has
    stopped others for minutes. The sizes do not change while the machine is up, so `lab exec`
    finds what `lab up` made.
    """
    if "MESH_TMP" in os.environ:
        return TMP
    pages = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        shm = os.statvfs(SHM)
    except OSError:
        return TMP
    roomy = pages >= MEMORY_FOR_IMAGES and shm.f_frsize * shm.f_blocks >= pages // 3
    return SHM if roomy and os.access(SHM, os.W_OK | os.X_OK) else TMP


GUESTS = _for_guests()

PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


# Exit statuses of our own, beside the script's.
STATUS_GUEST = 99       # the guest died or hung
STATUS_WARNED = 98      # the script was content, the kernel was not
STATUS_BOOT = 97        # the guest did not come up


class LabError(Exception):
    """Something a person should read; ends the lab with its status."""

    status = 2


class BootFailed(LabError):
    """A guest that did not come up."""

    status = STATUS_BOOT


def cache_dir(*parts):
    base = os.environ.get("MESH_CACHE") or os.path.expanduser("~/.cache/meshblk")
    path = os.path.join(base, *parts)
    os.makedirs(path, exist_ok=True)
    return path


def say(msg):
    print(f"lab: {msg}", file=sys.stderr, flush=True)


def die_with_parent():
    """preexec_fn: the kernel kills this child when the lab is gone."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def pressure():
    """One line about the machine, for a failure that may be its own: what kept it waiting."""
    said = ["load " + " ".join(f"{n:.1f}" for n in os.getloadavg())]
    for what in ("cpu", "io", "memory"):
        try:
            with open(f"/proc/pressure/{what}", encoding="ascii") as f:
                said.append(f"{what} {f.readline().split('total')[0].removeprefix('some ')}".strip())
        except OSError:
            continue
    with open("/proc/meminfo", encoding="ascii") as f:
        said += [" ".join(line.split()) for line in f if line.startswith(("MemAvail", "Dirty"))]
    return "the machine: " + "; ".join(said)


def size(text):
    """'256M' to bytes."""
    units = {"k": 10, "m": 20, "g": 30, "t": 40}
    text = text.strip().lower().rstrip("ib")
    if text and text[-1] in units:
        return int(float(text[:-1]) * (1 << units[text[-1]]))
    return int(text)


def compiled(src, name, *flags):
    """A program of the lab's own, below LOGS; compiled when its source is newer."""
    out = os.path.join(LOGS, name)
    os.makedirs(LOGS, exist_ok=True)
    with open(out + ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(out) or os.stat(out).st_mtime < os.stat(src).st_mtime:
            must(["gcc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", *flags,
                  "-o", out + ".tmp", src])
            os.rename(out + ".tmp", out)
    return out


def must(argv, **kw):
    """Run a helper program; its output is shown only when it fails."""
    r = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       text=True, errors="replace", check=False, **kw)
    if r.returncode:
        raise LabError(f"{' '.join(argv)} failed:\n{r.stdout[-4000:]}")
    return r.stdout
