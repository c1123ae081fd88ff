# SPDX-License-Identifier: GPL-2.0-only
"""CPU seconds of guests: unlike seconds of the wall, they hardly depend on other load."""
import contextlib
import os

TICK = os.sysconf("SC_CLK_TCK")


def of_process(pid):
    """CPU seconds of a process and its threads so far; 0 when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as f:
            fields = f.read().rpartition(b") ")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICK
    except (OSError, ValueError, IndexError):
        return 0.0


def note(kind, seconds):
    """For run-cases: guests of `lab up` are no children of the process that ends them."""
    path = os.environ.get("MESH_COSTS")
    if path:
        with open(path, "a", encoding="ascii") as f:
            f.write(f"{kind} {seconds:.2f}\n")


def noted(path):
    """Sums by kind of what note() wrote there."""
    sums = {}
    with contextlib.suppress(FileNotFoundError), open(path, encoding="ascii") as f:
        for line in f:
            kind, seconds = line.split()
            sums[kind] = sums.get(kind, 0.0) + float(seconds)
    return sums


class QemuOf:
    """CPU seconds of the QEMU of a `lab run --pid-file`."""

    def __init__(self, path):
        self.path = path
        self.pid = None

    def __call__(self):
        if self.pid is None:
            with contextlib.suppress(OSError, ValueError), open(self.path, encoding="ascii") as f:
                self.pid = int(f.read())
        return of_process(self.pid) if self.pid else 0.0
