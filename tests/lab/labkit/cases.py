# SPDX-License-Identifier: GPL-2.0-only
"""The cases of tests/cases: what their headers say, and how they are run."""
import contextlib
import os
import re
import shlex
import signal
import subprocess
import tempfile
import threading
import time

from . import warnings
from .common import LAB, LOGS, TMP, TOP, LabError, say

CASES = os.path.join(TOP, "tests/cases")
TIERS = ("check", "long", "debug")
SLOWER = {"debug": 4, "long": 4}        # time-outs of a tier, as a factor
BATCH = 12                      # cases in one boot, at most
CPUS = 2                        # of a guest, outside the check


class Case:
    """One executable file and its header."""

    def __init__(self, path):
        self.path = path
        self.name = os.path.basename(path)
        head = {}
        with open(path, encoding="utf-8", errors="replace") as f:
            for line in f:
                if not line.startswith("#"):
                    break
                m = re.match(r"# (kernels|nodes|args|cpus|tier|timeout|leaks|"
                             r"long-kernels|long-timeout): *(.*)", line)
                if m:
                    head[m[1]] = m[2].strip()
        self.nodes = int(head.get("nodes", "1"))
        self.args = head.get("args", "")
        self.check_cpus = int(head.get("cpus", 1))
        self.leaks = head.get("leaks") == "yes"
        self.tiers = head.get("tier", "check").split()
        self.timeout = int(head.get("timeout", "300"))
        self.long_timeout = int(head.get("long-timeout", self.timeout * SLOWER["long"]))
        self.kernels = head.get("kernels", "both").replace("both", "6.1 6.12").split()
        self.long_kernels = head.get("long-kernels", "").split()
        if self.nodes == 1 and any("," in k for k in self.kernels + self.long_kernels):
            raise LabError(f"{self.name}: one node has one kernel")
        if not set(self.tiers) <= set(TIERS):
            raise LabError(f"{self.name}: tier is one or more of {' '.join(TIERS)}")
        if not os.access(path, os.X_OK):
            raise LabError(f"{self.name} is not executable")

    def runs_in(self, tier):
        """check is part of long; debug stands alone."""
        return tier in self.tiers or (tier == "long" and "check" in self.tiers)

    def kernels_in(self, tier, every=False):
        if tier == "debug":
            return ["debug"]
        return self.kernels + (self.long_kernels if tier == "long" or every else [])

    def cpus(self, tier):
        """Of the one guest. Outside the check every case has those that races need."""
        return self.check_cpus if tier == "check" else max(self.check_cpus, CPUS)

    def seconds(self, tier):
        """What it may take."""
        if tier == "long":
            return self.long_timeout
        return self.timeout * SLOWER.get(tier, 1)


def find(tier, only, kernel, whatever=False):
    """[(kernels, Case)] in the order of their numbers, kernel by kernel; of
    other tiers too, `whatever` their headers say."""
    cases = [Case(os.path.join(CASES, n)) for n in sorted(os.listdir(CASES))
             if re.match(r"\d{3}-[\w-]+$", n)]
    todo = [(k, c) for c in cases if (whatever or c.runs_in(tier))
            and (not only or any(o in c.name for o in only))
            for k in c.kernels_in(tier, whatever) if kernel in (None, k)]
    return sorted(todo, key=lambda t: t[0])


def batches(todo, tier):
    """Groups that can share a boot: [(kernels, [Case])]."""
    groups = {}
    for k, c in todo:
        leaks = c.leaks and k == "debug"
        where = (k, c.args, c.cpus(tier), leaks) if c.nodes == 1 else (k, c.name)
        groups.setdefault(where, []).append(c)
    out = []
    for (k, *_), cs in groups.items():
        out += [(k, cs[i:i + BATCH]) for i in range(0, len(cs), BATCH)]
    return out


class Result:
    """Of one case on one kernel."""

    def __init__(self, case, kernel):
        self.case, self.kernel = case, kernel
        self.seconds = 0
        self.status = None
        self.why = []           # empty: it passed
        self.output = []


def _lab_argv(kernel, cpus, args):
    # The debug kernel takes a minute of a CPU that is ours alone.
    slow = ["--boot-timeout", "900"] if kernel == "debug" else []
    return [os.path.join(LAB, "lab"), "run", "--quiet", "--kernel", kernel, *slow,
            "--cpus", str(cpus), *shlex.split(args)]


def _split_warnings(console, results):
    """Give each warning on the console to the case that ran then."""
    now = None
    for name, line in warnings.by_case(console):
        now = results.get(name, now)
        if now is None and results:
            now = next(iter(results.values()))
        if now is not None:
            now.why.append("kernel: " + line)


_stopped = threading.Event()
_running = set()
_of_labs = set()                # leaders of process groups; what they started goes with them


def stop():
    """End what run_batch() and run_multis() run in other threads."""
    _stopped.set()
    for p in list(_of_labs):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(p.pid, signal.SIGTERM)
    for p in list(_running):
        p.terminate()
    for p in list(_running):
        p.wait()


class Clock:
    """When a run must have ended, in time.monotonic()."""

    end = float("inf")

    @classmethod
    def left(cls):
        return max(cls.end - time.monotonic(), 0)


def end_at(when):
    """A run that is out of time names what it did not reach; one that is killed names nothing."""
    Clock.end = when


def _not_reached(kernel, cases, report):
    for c in cases:
        r = Result(c, kernel)
        r.why.append("not reached: the run's time was up")
        report(r)


def _patching(r):
    """Whether two emulated CPUs died in the kernel's own code patching, as they now and then do."""
    return any("Oops: int3" in w for w in r.why if w.startswith("kernel: "))


def run_batch(kernel, cases, tier, report):
    """Boot as often as it takes to run all of them; report(Result) each."""
    left, again = list(cases), set()
    while left and not _stopped.is_set():
        if not Clock.left():
            return _not_reached(kernel, left, report)
        done = _one_boot(kernel, left, tier)
        # that says nothing about the case, which has another try
        if _patching(done[-1]) and done[-1].case.name not in again:
            again.add(done[-1].case.name)
            say(f"{kernel} {done.pop().case.name}: a CPU died in code patching; once more")
        for r in done if not _stopped.is_set() else ():
            report(r)
        left = left[len(done):]
    return None


def _one_boot(kernel, cases, tier):
    """Results of the first cases, at least of one."""
    total = sum(c.seconds(tier) for c in cases)
    argv = _lab_argv(kernel, cases[0].cpus(tier), cases[0].args)
    if cases[0].leaks and kernel == "debug":
        argv.append("--leaks")
    with tempfile.TemporaryDirectory(prefix="meshlab-cases-", dir=TMP) as tmp:
        console = os.path.join(tmp, "console")
        script = os.path.join(tmp, "batch")
        with open(script, "w", encoding="utf-8") as f:
            f.write(f"#!/bin/sh\nexport MESH_TIER={tier}\n"
                    f"exec {LAB}/guest/batch " + " ".join(
                        shlex.quote(f"{c.seconds(tier)}:{c.path}") for c in cases))
        os.chmod(script, 0o755)
        argv += ["--timeout", str(total + 900), "--console", console, script]
        p = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             text=True, errors="replace")
        _running.add(p)
        watch = threading.Timer(min(Clock.left(), threading.TIMEOUT_MAX), p.terminate)
        watch.daemon = True
        watch.start()
        results, tail = _read(p.stdout, cases, kernel)
        p.wait()
        watch.cancel()
        _running.discard(p)
        _split_warnings(console, results)
    done = list(results.values())
    ended = done and done[-1].status is not None
    if not ended or not done:
        if not done:
            done = [Result(cases[0], kernel)]
        done[-1].why.append("the guest died or hung in it" if Clock.left() else
                            "the run's time was up in it")
        done[-1].output += tail
    elif p.returncode and not any(r.why for r in done):
        done[-1].why.append(f"lab run ended with status {p.returncode}")
        done[-1].output += tail
    for r in done:
        if r.why:
            r.output += [line for line in tail if "console log" in line]
    return done


def _read(stream, cases, kernel):
    """Results by name out of what guest/batch prints, and what came after."""
    by_name = {c.name: c for c in cases}
    results, now, tail = {}, None, []
    for line in stream:
        line = line.rstrip("\n")
        word = line.split(" ")
        if word[0] == "@@begin" and word[1] in by_name:
            now = results[word[1]] = Result(by_name[word[1]], kernel)
            now.status = None
            now.begin = time.monotonic()
        elif word[0] == "@@end" and now is not None:
            now.status, now.seconds = int(word[2]), int(word[3])
            if now.status:
                now.why.append(f"status {now.status}")
            now = None
        elif now is not None and not line.startswith("lab: "):
            now.output.append(line)
        elif line:
            tail.append(line)
    if now is not None:
        now.seconds = int(time.monotonic() - now.begin)
    return results, tail


def run_multis(kernels, cases, tier, report):
    """Cases of several nodes, one after another."""
    for i, c in enumerate(cases):
        if _stopped.is_set():
            return None
        if not Clock.left():
            return _not_reached(kernels, cases[i:], report)
        _run_multi(kernels, c, tier, report)
    return None


def _run_multi(kernels, case, tier, report):
    """A program of the host, with a lab around it."""
    r = Result(case, kernels)
    env = dict(os.environ, MESH_LAB=f"case-{os.getpid()}", MESH_TIER=tier,
               LAB=os.path.join(LAB, "lab"))
    lab = env["LAB"]
    begin = time.monotonic()

    def call(argv, timeout):
        """What it leaves behind holds nothing up: its end is waited for, not its output's."""
        ends_it = argv[1:2] == ["down"]
        with tempfile.TemporaryFile("w+", dir=TMP, errors="replace") as said:
            p = subprocess.Popen(argv, stdout=said, stderr=subprocess.STDOUT,
                                 stdin=subprocess.DEVNULL, env=env, start_new_session=True)
            if not ends_it:
                _of_labs.add(p)
            try:
                return p.wait(timeout if ends_it else min(timeout, Clock.left()))
            except subprocess.TimeoutExpired:
                return 124
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(p.pid, signal.SIGTERM)
                p.wait()
                _of_labs.discard(p)
                said.seek(0)
                r.output += said.read().splitlines()

    try:
        status = call([lab, "up", "--nodes", str(case.nodes), "--kernel", kernels,
                       *shlex.split(case.args)], 3600)
        if status:
            r.why.append(f"lab up ended with status {status}")
        else:
            status = call([case.path], case.seconds(tier))
            if status == 124:
                r.why.append(f"no end after {case.seconds(tier)} s")
            elif status:
                r.why.append(f"status {status}")
    finally:
        down = call([lab, "down"] + (["--keep-logs"] if r.why else []), 120)
        if down:
            r.why.append("a kernel warned" if down == 98 else "lab down failed")
    r.seconds = int(time.monotonic() - begin)
    if not _stopped.is_set():
        report(r)


def keep_output(result):
    """Where all that a failed case said can be read."""
    os.makedirs(LOGS, exist_ok=True)
    path = os.path.join(LOGS, f"{result.case.name}-{result.kernel}.out")
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(result.output) + "\n")
    return path
