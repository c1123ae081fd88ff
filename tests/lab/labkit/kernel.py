# SPDX-License-Identifier: GPL-2.0-only
"""Which kernel a guest boots, our modules for it, and its modules.dep."""
import fcntl
import glob
import hashlib
import lzma
import os
import re
import shutil
import subprocess
import time

from .common import BUILD, LAB, TOP, LabError, cache_dir, must, say

# What is compiled into our modules; a newer file means they are built again.
SOURCES = ("Kbuild", "driver", "rdda", "protect", "tests/kmod")
PRODUCT = ("meshblk.ko", "meshtgt.ko")

# Of the kernel's own modules, those that guests load: a tree has them unpacked, since a guest
# that unpacks takes longer for that than for all else that modprobe does. Others work, too.
UNPACKED = ("nvme", "virtio_console", "virtio_net", "virtio_scsi", "virtio_blk", "virtio_rng",
            "sd_mod", "configfs", "dummy", "rdma_rxe", "rdma_cm", "rdma_ucm", "ib_uverbs",
            "crc32_generic", "dm_mod", "brd", "loop", "null_blk", "xfs", "ext4", "raid1", "raid0",
            "raid10", "raid456", "nvme_rdma", "nvmet_rdma", "sch_netem", "sch_tbf", "zram")

STARTING = 600          # seconds that a guest may take from its tree to its QEMU

# As many compilers at once as there are CPUs for us.
JOBS = f"-j{len(os.sched_getaffinity(0))}"


class Kernel:
    """A kernel image with the modules that belong to it."""

    def __init__(self, release, image, modules, source=None):
        self.release = release
        self.image = image
        self.modules = modules          # .../lib/modules/RELEASE
        self.source = source            # unpacked source, where there is one


def _version_key(name):
    return [int(n) for n in re.findall(r"\d+", name)]


def find(which):
    """The newest installed kernel of a series ('6.1'), or an exact release."""
    if which == "debug":
        return _find_debug()
    names = [os.path.basename(p) for p in glob.glob("/lib/modules/*")
             if os.path.exists(f"/boot/vmlinuz-{os.path.basename(p)}")]
    fit = [n for n in names if n == which or
           (n.startswith(which + ".") and re.match(r"[\d.-]+(\+deb\d+)?-amd64$", n))]
    if not fit:
        raise LabError(f"no kernel {which} is installed: "
                       "apt install linux-image-amd64 linux-image-6.12-amd64")
    rel = max(fit, key=_version_key)
    return Kernel(rel, f"/boot/vmlinuz-{rel}", f"/lib/modules/{rel}")


def _find_debug():
    """The kernel of tests/lab/debug-kernel."""
    out = must([os.path.join(LAB, "debug-kernel"), "--where"]).strip()
    try:
        with open(f"{out}/release", encoding="ascii") as f:
            rel = f.read().strip()
    except FileNotFoundError:
        raise LabError("no debug kernel yet: run tests/lab/debug-kernel, "
                       "about 25 CPU-minutes, once") from None
    modules = f"{out}/lib/modules/{rel}"
    return Kernel(rel, f"{out}/bzImage", modules, os.path.realpath(f"{modules}/build"))


def _newest_source():
    newest = 0
    for s in SOURCES:
        s = os.path.join(TOP, s)
        files = [s] if os.path.isfile(s) else [
            os.path.join(d, f) for d, _, fs in os.walk(s) for f in fs]
        newest = max([newest] + [os.stat(f).st_mtime for f in files])
    return newest


def built_modules(kernel, faults=False):
    """Our modules for this kernel, built now if they are not up to date."""
    folder = os.path.join(BUILD, kernel.release + ("-faults" if faults else ""))
    if not _are_built(folder):
        _build_modules(kernel, folder, faults)
    return sorted(glob.glob(f"{folder}/*.ko") + glob.glob(f"{folder}/tests/kmod/*.ko"))


def _are_built(what):
    """True if a run of many guests has built it and left its word: a make that
    finds nothing to do takes its seconds at each boot."""
    return what in os.environ.get("MESH_BUILT", "").split(":")


def build_for(kernels_faults):
    """Build what guests of these kernels need, for all that are started from here on."""
    built_programs()
    done = ["programs"]
    for which, faults in sorted(kernels_faults):
        k = find(which)
        built_modules(k, faults)
        done.append(os.path.join(BUILD, k.release + ("-faults" if faults else "")))
    os.environ["MESH_BUILT"] = ":".join(done)


def _build_modules(kernel, folder, faults):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, ".lab-lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stamp = os.path.join(folder, ".lab-built")
        # a make install or clean that was interrupted leaves the stamp alone
        there = all(os.path.exists(os.path.join(folder, ko)) for ko in PRODUCT)
        if not there or not os.path.exists(stamp) or \
                os.stat(stamp).st_mtime < _newest_source():
            say(f"building the modules for {kernel.release}")
            newest = _newest_source()
            must(["make", JOBS, "-C", TOP, f"KREL={kernel.release}",
                  f"KDIR={kernel.modules}/build", "modules"]
                 + (["FAULTS=1"] if faults else []))
            with open(stamp, "w", encoding="ascii"):
                pass
            os.utime(stamp, (newest, newest))


def built_programs():
    """Userspace and the tests' tools: the guest finds them in build/bin. A lab
    that uses those of yesterday misleads."""
    if _are_built("programs"):
        return
    os.makedirs(BUILD, exist_ok=True)
    with open(os.path.join(BUILD, ".lab-lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        must(["make", JOBS, "-s", "-C", TOP, "userspace", "tools"])


def tree(kernel, extra=(), faults=False):
    """A folder laid over the guest's root, in which modprobe finds our
    modules (and those of `extra`, before the kernel's own). Kept by content.
    """
    built_programs()
    kos = built_modules(kernel, faults) + list(extra)
    h = hashlib.sha256(f"{kernel.modules} {os.stat(kernel.modules).st_mtime} {UNPACKED}".encode())
    for ko in kos:
        with open(ko, "rb") as f:
            h.update(ko.encode() + hashlib.sha256(f.read()).digest())
    base = cache_dir("trees")
    out = os.path.join(base, f"{kernel.release}-{h.hexdigest()[:16]}")
    with open(os.path.join(base, ".lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.isdir(out):
            os.utime(out)
            return out
        _prune(base)
        tmp = out + ".tmp"
        shutil.rmtree(tmp, ignore_errors=True)
        rel = f"usr/lib/modules/{kernel.release}"
        mdir = os.path.join(tmp, rel)
        os.makedirs(os.path.join(mdir, "updates"))
        os.symlink("usr/lib", os.path.join(tmp, "lib"))
        for ko in kos:
            dst = os.path.join(mdir, "updates", os.path.basename(ko))
            shutil.copy(ko, dst)
            subprocess.run(["strip", "--strip-debug", dst], check=False)
        for ko in _unpacked(kernel):
            dst = os.path.join(mdir, "updates", os.path.basename(ko))
            if not os.path.exists(dst):     # one of `extra` takes its place
                os.link(ko, dst)
        for f in ("modules.order", "modules.builtin", "modules.builtin.modinfo"):
            shutil.copy(f"{kernel.modules}/{f}", mdir)
        if kernel.modules.startswith("/lib/modules/"):
            # depmod reads the kernel's own modules through this link; the
            # guest sees them in the layer below.
            os.symlink(f"{kernel.modules}/kernel", f"{mdir}/kernel")
            must(["depmod", "-b", tmp, kernel.release])
            os.unlink(f"{mdir}/kernel")
        else:
            shutil.copytree(f"{kernel.modules}/kernel", f"{mdir}/kernel")
            must(["depmod", "-b", tmp, kernel.release])
        os.unlink(os.path.join(tmp, "lib"))
        os.rename(tmp, out)
    return out


def _unpacked(kernel):
    """Paths of UNPACKED and what they depend on, unpacked once for each kernel."""
    if not kernel.modules.startswith("/lib/modules/"):
        return []
    out = os.path.join(cache_dir("unpacked"), kernel.release)
    os.makedirs(out, exist_ok=True)
    done = {}
    for packed in needed(kernel, UNPACKED, missing=True):
        if not packed.endswith(".xz") or "/updates/" in packed:
            continue
        path = os.path.join(out, os.path.basename(packed).removesuffix(".xz"))
        done[path] = None
        if os.path.exists(path) and os.stat(path).st_mtime >= os.stat(packed).st_mtime:
            continue
        with open(path + ".new", "wb") as f:
            f.write(read_module(packed))
        os.rename(path + ".new", path)
    return list(done)


def read_module(path):
    """The bytes of a module, unpacked."""
    with open(path, "rb") as f:
        data = f.read()
    return lzma.decompress(data) if path.endswith(".xz") else data


def needed(kernel, names, missing=False):
    """Paths of these modules and of what they depend on, in the order to load them. `missing`:
    a kernel need not have them all."""
    paths = []
    root = kernel.modules.rsplit("/lib/modules/", 1)[0] or "/"
    for m in names:
        r = subprocess.run(["modprobe", "-d", root, "-S", kernel.release, "--show-depends", m],
                           capture_output=True, text=True, check=False)
        if r.returncode and not missing:
            raise LabError(f"modprobe --show-depends {m}: {r.stderr.strip()}")
        for line in r.stdout.splitlines():
            kind, _, path = line.partition(" ")
            path = path.strip().split(" ")[0]
            if kind == "insmod" and path not in paths:
                paths.append(path)
    return paths


def _prune(base, keep=12):
    """Old trees go, but for those of running guests: several checkouts share the
    cache, so the newest ones may all be of others."""
    trees = sorted((os.path.join(base, d) for d in os.listdir(base)
                    if not d.startswith(".")), key=os.path.getmtime)
    running = _command_lines()
    for d in trees[:-keep]:
        # a guest that is about to start is in no command line yet
        if d not in running and time.time() - os.path.getmtime(d) > STARTING:
            shutil.rmtree(d, ignore_errors=True)


def _command_lines():
    """Of all processes, in one string."""
    out = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path, encoding="utf-8", errors="replace") as f:
                out.append(f.read())
        except OSError:
            pass                # it has ended
    return "\n".join(out)
