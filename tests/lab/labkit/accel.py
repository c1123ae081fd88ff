# SPDX-License-Identifier: GPL-2.0-only
"""KVM where it really works, else emulation.

That /dev/kvm is there says little (in a nested machine QEMU may hang or die
with it), so a kernel is booted once under a time limit, up to where it panics
for want of a root, and the answer is kept in the cache; that it does not work for a
day only, since a busy machine may be the reason.
"""
import fcntl
import hashlib
import os
import subprocess
import tempfile
import time

from .common import TMP, cache_dir, die_with_parent, must, say

SECONDS = 40
DAY = 86400
REACHED = b"Kernel panic - not syncing: VFS"


def best(kernel):
    """'kvm' or 'tcg'; $MESH_ACCEL overrides."""
    forced = os.environ.get("MESH_ACCEL")
    if forced:
        return forced
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return "tcg"
    host = must(["qemu-system-x86_64", "--version"]) + " ".join(os.uname()) + kernel.release
    base = cache_dir("accel")
    answer = os.path.join(base, hashlib.sha256(host.encode()).hexdigest()[:16])
    with open(os.path.join(base, ".lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        known = _known(answer)
        if not known:
            works = _probe(kernel)
            say("KVM works here" if works else "KVM does not work here, emulating")
            known = "kvm" if works else "tcg"
            with open(answer, "w", encoding="ascii") as f:
                f.write(known)
        return known


def _known(answer):
    """What an earlier probe found, or None."""
    try:
        with open(answer, encoding="ascii") as f:
            known = f.read()
        age = time.time() - os.stat(answer).st_mtime
    except FileNotFoundError:
        return None
    return known if known == "kvm" or (known == "tcg" and 0 <= age < DAY) else None


def _probe(kernel):
    with tempfile.NamedTemporaryFile(prefix="meshlab-probe-", dir=TMP) as console:
        argv = ["qemu-system-x86_64", "-accel", "kvm", "-cpu", "host", "-m", "512M",
                "-smp", "2", "-machine", "q35", "-nodefaults", "-no-user-config",
                "-display", "none", "-no-reboot", "-kernel", kernel.image,
                "-append", "console=ttyS0 panic=-1", "-serial", f"file:{console.name}"]
        try:
            subprocess.run(argv, timeout=SECONDS, check=False, stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                           preexec_fn=die_with_parent)
        except subprocess.TimeoutExpired:
            return False
        console.seek(0)
        return REACHED in console.read()
