# SPDX-License-Identifier: GPL-2.0-only
"""Which failures are run again: a pure rule, tried by tests/lab/flake-check.

A time-out, a failed boot or a dead guest can be the machine's doing. Wrong data, a
failed assertion and a kernel warning are ours, whatever the machine did. One dead guest
has a known cause: an emulated CPU that died in the kernel's own code patching.
"""
import enum
import os
import re

from .common import TOP, LabError

LIST = os.path.join(TOP, "tests/flaky")
TWICE = 2                       # so often in a row it must pass, alone

# "Oops: int3: 0000" on 6.12, "int3: 0000" on 6.1
PATCHING = re.compile(r"\bint3: 0000 \[#1\]")


class Kind(enum.Enum):
    """How a case ended."""

    PASSED = "passed"
    FAILED = "failed"                           # an assertion, or wrong data
    WARNED = "a kernel warning"
    LATE = "a time-out"
    BOOT = "a failed boot"
    DEAD = "a dead guest"
    PATCHED = "a CPU that died in code patching"
    UNREACHED = "not reached"


AGAIN = (Kind.LATE, Kind.BOOT, Kind.DEAD, Kind.PATCHED)


def judged(kind, kernel_lines):
    """The kind, once it is known what the kernel said on the console."""
    if not kernel_lines:
        return kind
    died = kind in (Kind.DEAD, Kind.BOOT)
    if died and PATCHING.search(kernel_lines[0]):
        return Kind.PATCHED
    return Kind.WARNED


def ended(status, seconds, limit, what_else=Kind.FAILED):
    """Of a case that `timeout` watched: its own statuses 124 and 137 come before the limit."""
    if status == 0:
        return Kind.PASSED
    return Kind.LATE if status in (124, 137) and seconds + 1 >= limit else what_else


def listed(path=LIST):
    """Names of cases that are known as flaky; each needs its cause."""
    names = set()
    with open(path, encoding="utf-8") as f:
        for line in f:
            line = line.rstrip("\n")
            if not line or line.startswith("#"):
                continue
            name, tab, cause = line.partition("\t")
            if not tab or not cause.strip():
                raise LabError(f"{path}: no cause given for {name}")
            names.add(name)
    return names


def run_again(kind, name, known):
    """True for a case that is run again after it ended so."""
    return kind in AGAIN and name not in known


def again_passed(kinds):
    """True if its further runs count as passed."""
    return len(kinds) == TWICE and all(k is Kind.PASSED for k in kinds)


def is_flake(kind):
    """True if it is to be listed with its cause; that of code patching is known."""
    return kind is not Kind.PATCHED
