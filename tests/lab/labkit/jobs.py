# SPDX-License-Identifier: GPL-2.0-only
"""Guests side by side, as many as the CPUs carry."""
import threading
from concurrent.futures import ThreadPoolExecutor

from . import cases, kernel


class Jobs:
    """Runs functions side by side while they have CPUs. The emulated CPUs of a guest
    wait for one another: two guests of two on two CPUs take four times as long as one,
    so only one guest of several runs at a time."""

    def __init__(self, cpus):
        self.cpus = self.free = max(cpus, 1)
        self.wide = False       # a guest of several CPUs runs
        self.given_back = threading.Condition()

    def run(self, jobs):
        """[(CPUs, function, argument...)], in this order where they fit."""
        jobs = [(min(n, self.cpus), f, *args) for n, f, *args in jobs]
        with ThreadPoolExecutor(max(len(jobs), 1)) as pool:
            running = []
            try:
                while jobs:
                    with self.given_back:
                        fits = next((j for j in jobs if j[0] <= self.free and
                                     not (j[0] > 1 and self.wide)), None)
                        if fits is None:
                            self.given_back.wait()
                            continue
                        self.free -= fits[0]
                        self.wide = self.wide or fits[0] > 1
                    jobs.remove(fits)
                    running.append(pool.submit(self._one, *fits))
                for r in running:
                    r.result()
            except BaseException:
                cases.stop()
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _one(self, n, function, *args):
        try:
            function(*args)
        finally:
            with self.given_back:
                self.free += n
                self.wide = self.wide and n == 1
                self.given_back.notify()


def run_all(todo, tier, cpus, report):
    """Guests with the most CPUs first, and of these the longest: none is left alone at
    the end. The labs of several nodes are one job of one CPU, as the nodes mostly wait
    for one another."""
    kernel.build_for({(k, "--faults" in c.args.split()) for ks, c in todo
                      for k in ks.split(",")})
    groups = cases.batches(todo, tier)
    one = sorted((g for g in groups if g[1][0].nodes == 1),
                 key=lambda g: (g[1][0].cpus(tier), sum(c.seconds(tier) for c in g[1])),
                 reverse=True)
    several = [(k, cs) for k, cs in groups if cs[0].nodes > 1]

    def labs():
        for k, cs in several:
            cases.run_multis(k, cs, tier, report)

    jobs = [(cs[0].cpus(tier), cases.run_batch, k, cs, tier, report) for k, cs in one]
    alone = sum(j[0] > 1 for j in jobs)
    Jobs(cpus).run(jobs[:alone] + [(1, labs)] + jobs[alone:])
