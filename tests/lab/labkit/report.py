# SPDX-License-Identifier: GPL-2.0-only
"""Of a run of cases: one line a case, which are run again, and what each one cost."""
import os
import threading

from . import cases, flakes
from .common import pressure


def details(r):
    """Of a case that did not pass."""
    for w in r.why[:6]:
        print(f"     {w}")
    for line in r.output[-25:]:
        print(f"     | {line}")
    if r.kind in flakes.AGAIN:
        print(f"     {pressure()}")
    print(f"     all it said: {cases.keep_output(r)}", flush=True)


class Report:
    """One line a case, as they end."""

    def __init__(self, costs=None, done=None):
        self.lock = threading.Lock()
        self.passed = self.failed = self.left = 0
        self.known = flakes.listed()
        self.again = []                 # results of cases to be run again
        self.flakes = []
        self.costs = open(costs, "a", encoding="utf-8") if costs else None
        self.done = done

    def __call__(self, r):
        with self.lock:
            self._cost("case", r.kernel, r.case.name, r.seconds, r.cpu)
            if self.done and r.kind is flakes.Kind.UNREACHED:
                self.left += 1          # the next slice runs it
            elif flakes.run_again(r.kind, r.case.name, self.known):
                self.again.append(r)
                self._line("once", r, f": {r.kind.value}; it is run again when the rest is done")
                details(r)
            elif r.why:
                self._failed(r)
            else:
                self._passed(r)

    def _line(self, word, r, more=""):
        print(f"{word} {r.kernel} {r.case.name} ({r.seconds} s, CPU {r.cpu:.0f} s){more}",
              flush=True)

    def _passed(self, r):
        self.passed += 1
        self._line("ok  ", r)
        if self.done:
            self.done.add(r.kernel, r.case.name)

    def _failed(self, r):
        self.failed += 1
        listed = r.kind in flakes.AGAIN and r.case.name in self.known
        self._line("FAIL", r, ": it is listed in tests/flaky" if listed else "")
        details(r)

    def _cost(self, kind, kernel, name, wall, cpu):
        if self.costs:
            print(kind, kernel, name, f"{wall:.1f}", f"{cpu:.1f}", sep="\t", file=self.costs,
                  flush=True)

    def boot(self, kernel, of, wall, cpu):
        """A guest, or a lab of them, took so long until the first case began."""
        with self.lock:
            self._cost("boot", kernel, of, wall, cpu)

    def labs(self, cpu):
        """CPU seconds of guests that are no children of ours."""
        with self.lock:
            self._cost("labs", "-", "-", 0, cpu)

    def run_again(self, tier):
        """One after another, alone: each must pass twice."""
        for first in self.again:
            kinds = []
            while len(kinds) < flakes.TWICE:
                r = run_alone(first, tier, self)
                kinds.append(r.kind)
                self._line("ok  " if not r.why else "FAIL", r, ", run again")
                if r.why:
                    details(r)
                    break
            if flakes.again_passed(kinds):
                self._passed(first)
                if flakes.is_flake(first.kind):
                    self.flakes.append(first)
            else:
                self._failed(first)

    def last_words(self):
        if self.left:
            print(f"{self.left} cases are left for the next slice")
        for r in self.flakes:
            print(f"flake: {r.case.name} on {r.kernel}, {r.kind.value}: enter it in "
                  "tests/flaky, with its cause, in the next commit")


class Alone:
    """Takes the result of a case that runs alone."""

    def __init__(self, report):
        self.boot, self.labs = report.boot, report.labs
        self.result = None

    def __call__(self, r):
        self.result = r


def run_alone(first, tier, report):
    alone = Alone(report)
    run = cases.run_batch if first.case.nodes == 1 else cases.run_multis
    run(first.kernel, [first.case], tier, alone)
    return alone.result


class Done:
    """Cases that passed, in a file: a run that was broken off goes on behind them."""

    def __init__(self, path, tier):
        self.path, self.tier = path, tier
        self.names = set()
        if os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                self.names = {line.rstrip("\n") for line in f}

    def _key(self, kernel, name):
        return f"{self.tier} {kernel} {name}"

    def add(self, kernel, name):
        with open(self.path, "a", encoding="utf-8") as f:
            f.write(self._key(kernel, name) + "\n")

    def has(self, kernel, name):
        return self._key(kernel, name) in self.names
