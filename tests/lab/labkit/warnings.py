# SPDX-License-Identifier: GPL-2.0-only
"""The gate: what a kernel must not say on its console."""
import os
import re

from .common import LAB

BAD = re.compile("|".join((
    r"WARNING: ", r"BUG: ", r"kernel BUG at", r"\bOops\b", r"\bint3: 0000 \[#",
    r"Kernel panic",
    r"general protection fault", r"Unable to handle kernel",
    r"INFO: task .* blocked for more than", r"INFO: rcu_\w+ (self-)?detected",
    r"rcu: INFO: ", r"possible circular locking", r"possible recursive locking",
    r"inconsistent lock state", r"suspicious RCU usage", r"held lock freed",
    r"lock held when returning", r"KASAN:", r"KFENCE:", r"UBSAN:", r"KCSAN:", r"refcount_t:",
    r"DMA-API: (?!preallocated|debugging)", r"kmemleak: \d+ new suspected", r"soft lockup",
    r"hard LOCKUP", r"workqueue lockup", r"BUG kmalloc", r"slab-out-of-bounds",
    r"Objects remaining in", r"sleeping function called from invalid",
    r"scheduling while atomic", r"list_(add|del) corruption",
    r"ODEBUG:", r"unregister_netdevice: waiting for", r"double fault",
    r"bad page state", r"Bad page map", r"stack-protector", r"Out of memory:",
    r"page allocation failure", r"segfault at", r"traps: .* general protection",
)))

# guest/batch writes one before each case.
CASE = re.compile(r"lab-case: (\S+)")


def exemptions(path=os.path.join(LAB, "exempt")):
    """Patterns of the exemption list, each with its reason behind a tab."""
    out = []
    with open(path, encoding="utf-8") as f:
        for line in f:
            line = line.rstrip("\n")
            if not line or line.startswith("#"):
                continue
            pattern, tab, reason = line.partition("\t")
            if not tab or not reason.strip():
                raise ValueError(f"{path}: no reason given for: {line}")
            out.append(re.compile(pattern))
    return out


def by_case(console):
    """(name of the case that ran then, line) of each line that fails."""
    skip = exemptions()
    name = None
    try:
        with open(console, encoding="utf-8", errors="replace") as f:
            for line in f:
                line = line.rstrip()
                mark = CASE.search(line)
                if mark:
                    name = mark[1]
                elif BAD.search(line) and not any(e.search(line) for e in skip):
                    yield name, line
    except FileNotFoundError:
        pass


def find(console):
    """Lines of a console log that fail a run."""
    return [line for _, line in by_case(console)]
