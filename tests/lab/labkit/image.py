# SPDX-License-Identifier: GPL-2.0-only
"""The initramfs: static busybox, a few modules, guest/init."""
import os
import shutil
import stat

from . import kernel as kernels
from .common import LAB, LabError

MODULES = ("virtio_pci", "9p", "9pnet_virtio", "overlay")


class _Cpio:
    """Writer of the 'newc' format that the kernel unpacks."""

    def __init__(self, out):
        self.out = out
        self.ino = 0

    def add(self, name, mode, data=b""):
        self.ino += 1
        raw = name.encode() + b"\0"
        fields = (self.ino, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(raw), 0)
        head = b"070701" + b"".join(b"%08x" % f for f in fields)
        self.out.write(head + raw + b"\0" * (-(len(head) + len(raw)) % 4))
        self.out.write(data + b"\0" * (-len(data) % 4))


def initramfs(kernel, path):
    """Write the initramfs of `kernel` to `path`."""
    busybox = shutil.which("busybox")
    if not busybox:
        raise LabError("no busybox: apt install busybox-static")
    with open(path, "wb") as out:
        cpio = _Cpio(out)
        for d in ("bin", "lib", "dev"):
            cpio.add(d, stat.S_IFDIR | 0o755)
        with open(busybox, "rb") as f:
            cpio.add("bin/busybox", stat.S_IFREG | 0o755, f.read())
        with open(os.path.join(LAB, "guest/init"), "rb") as f:
            cpio.add("init", stat.S_IFREG | 0o755, f.read())
        names = []
        for m in kernels.needed(kernel, MODULES):
            name = os.path.basename(m).removesuffix(".xz")
            cpio.add("lib/" + name, stat.S_IFREG | 0o644, kernels.read_module(m))
            names.append(name)
        cpio.add("modules.list", stat.S_IFREG | 0o644, ("\n".join(names) + "\n").encode())
        cpio.add("TRAILER!!!", 0)
