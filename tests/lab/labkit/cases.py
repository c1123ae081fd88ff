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

from . import costs, flakes, warnings
from .common import LAB, LOGS, STATUS_BOOT, STATUS_GUEST, STATUS_WARNED, TMP, TOP, LabError
from .flakes import Kind

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
        boots = -(-len(cs) // BATCH)
        size = -(-len(cs) // boots)
        out += [(k, cs[i:i + size]) for i in range(0, len(cs), size)]
    return out


class Result:
    """Of one case on one kernel."""

    def __init__(self, case, kernel):
        self.case, self.kernel = case, kernel
        self.kind = Kind.PASSED
        self.seconds = 0
        self.cpu = 0.0          # seconds, of its guests
        self.status = None
        self.why = []           # empty: it passed
        self.output = []


def _lab_argv(kernel, cpus, args):
    # The debug kernel takes a minute of a CPU that is ours alone.
    slow = ["--boot-timeout", "900"] if kernel == "debug" else []
    return [os.path.join(LAB, "lab"), "run", "--quiet", "--kernel", kernel, *slow,
            "--cpus", str(cpus), *shlex.split(args)]


def _split_warnings(console, results):
    """Give each warning on the console to the case that ran then; a list of one that is alone."""
    by_name = {r.case.name: r for r in results}
    now = results[0]
    for name, line in warnings.by_case(console):
        now = by_name.get(name, now)
        now.why.append("kernel: " + line)
    for r in results:
        r.kind = flakes.judged(r.kind, [w for w in r.why if w.startswith("kernel: ")])


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
        r.kind = Kind.UNREACHED
        r.why.append("not reached: the run's time was up")
        report(r)


def run_batch(kernel, cases, tier, report):
    """Boot as often as it takes to run all of them; report(Result) each, and
    report.boot(kernel, of what, wall, CPU) each boot."""
    left = list(cases)
    while left and not _stopped.is_set():
        if not Clock.left():
            return _not_reached(kernel, left, report)
        done = _one_boot(kernel, left, tier, report)
        for r in done if not _stopped.is_set() else ():
            report(r)
        left = left[len(done):]
    return None


def _batch_script(path, cases, tier):
    with open(path, "w", encoding="utf-8") as f:
        f.write(f"#!/bin/sh\nexport MESH_TIER={tier}\n")
        if "MESH_SEED" in os.environ:
            f.write(f"export MESH_SEED={shlex.quote(os.environ['MESH_SEED'])}\n")
        f.write(f"exec {LAB}/guest/batch " + " ".join(
            shlex.quote(f"{c.seconds(tier)}:{c.path}") for c in cases))
    os.chmod(path, 0o755)


def _one_boot(kernel, cases, tier, report):
    """Results of the first cases, at least of one."""
    total = sum(c.seconds(tier) for c in cases)
    argv = _lab_argv(kernel, cases[0].cpus(tier), cases[0].args)
    if cases[0].leaks and kernel == "debug":
        argv.append("--leaks")
    with tempfile.TemporaryDirectory(prefix="meshlab-cases-", dir=TMP) as tmp:
        console = os.path.join(tmp, "console")
        script = os.path.join(tmp, "batch")
        _batch_script(script, cases, tier)
        cpu = costs.QemuOf(os.path.join(tmp, "pid"))
        argv += ["--timeout", str(total + 900), "--console", console,
                 "--pid-file", cpu.path, script]
        p = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             text=True, errors="replace")
        _running.add(p)
        watch = threading.Timer(min(Clock.left(), threading.TIMEOUT_MAX), p.terminate)
        watch.daemon = True
        watch.start()
        out = _Output(kernel, cases, tier, cpu)
        out.read(p.stdout)
        p.wait()
        watch.cancel()
        _running.discard(p)
        report.boot(kernel, f"{cases[0].args} ({len(cases)} cases)", *out.boot)
        return _judge(out, kernel, cases[0], p.returncode, console)


def _judge(out, kernel, first, status, console):
    """How each case that was begun ended; at least the first."""
    done = list(out.results.values()) or [Result(first, kernel)]
    last = done[-1]
    if last.status is None:
        if not Clock.left():
            last.kind = Kind.UNREACHED
            last.why.append("the run's time was up in it")
        elif status == STATUS_GUEST:
            late = any("no end after" in line for line in out.tail)
            last.kind = Kind.LATE if late else Kind.DEAD
            last.why.append("the guest hung in it" if late else "the guest died in it")
        else:
            last.kind = Kind.BOOT if status == STATUS_BOOT else Kind.FAILED
            last.why.append(f"lab run ended with status {status} before it ended")
        last.output += out.tail
    elif status and not any(r.why for r in done) and status != STATUS_WARNED:
        last.kind = Kind.FAILED
        last.why.append(f"lab run ended with status {status}")
        last.output += out.tail
    _split_warnings(console, done)
    if status == STATUS_WARNED and not any(r.why for r in done):
        last.kind = Kind.WARNED
        last.why.append("lab run says that the kernel warned")
        last.output += out.tail
    for r in done:
        if r.why:
            r.output += [line for line in out.tail if "console log" in line]
    return done


class _Output:
    """Results by name, read from the output of guest/batch, and the lines behind it."""

    def __init__(self, kernel, cases, tier, cpu):
        self.kernel, self.tier, self.cpu = kernel, tier, cpu
        self.by_name = {c.name: c for c in cases}
        self.results, self.tail = {}, []
        self.begin = time.monotonic()
        self.boot = None        # (wall, CPU) until the first case began
        self.used = 0.0

    def read(self, stream):
        now = None
        for line in stream:
            line = line.rstrip("\n")
            word = line.split(" ")
            if word[0] == "@@begin" and word[1] in self.by_name:
                now = self._begun(self.by_name[word[1]])
            elif word[0] == "@@end" and now is not None:
                self._ended(now, int(word[2]), int(word[3]))
                now = None
            elif now is not None and not line.startswith("lab: "):
                now.output.append(line)
            elif line:
                self.tail.append(line)
        if now is not None:
            now.seconds = int(time.monotonic() - now.begin)
        if self.boot is None:
            self.boot = (time.monotonic() - self.begin, 0.0)

    def _begun(self, case):
        r = self.results[case.name] = Result(case, self.kernel)
        r.begin = time.monotonic()
        self.used = self.cpu()
        if self.boot is None:
            self.boot = (r.begin - self.begin, self.used)
        return r

    def _ended(self, r, status, seconds):
        r.status, r.seconds = status, seconds
        r.cpu = max(self.cpu() - self.used, 0.0)
        r.kind = flakes.ended(status, seconds, r.case.seconds(self.tier))
        if status:
            r.why.append(f"no end after {seconds} s" if r.kind is Kind.LATE else
                         f"status {status}")


def run_multis(kernels, cases, tier, report):
    """Cases of several nodes, one after another."""
    for i, c in enumerate(cases):
        if _stopped.is_set():
            return None
        if not Clock.left():
            return _not_reached(kernels, cases[i:], report)
        with tempfile.TemporaryDirectory(prefix="meshlab-cases-", dir=TMP) as tmp:
            r = _Multi(kernels, c, tier, os.path.join(tmp, "costs")).run(report)
        if not _stopped.is_set():
            report(r)
    return None


class _Multi:
    """A program of the host, with a lab around it."""

    def __init__(self, kernels, case, tier, spent):
        self.kernels, self.case, self.tier, self.spent = kernels, case, tier, spent
        self.result = Result(case, kernels)
        self.env = dict(os.environ, MESH_LAB=f"case-{os.getpid()}", MESH_TIER=tier,
                        MESH_COSTS=spent, LAB=os.path.join(LAB, "lab"))

    def _call(self, argv, timeout):
        """What it leaves behind holds nothing up: its end is waited for, not its output's."""
        ends_it = argv[1:2] == ["down"]
        with tempfile.TemporaryFile("w+", dir=TMP, errors="replace") as said:
            p = subprocess.Popen(argv, stdout=said, stderr=subprocess.STDOUT,
                                 stdin=subprocess.DEVNULL, env=self.env, start_new_session=True)
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
                self.result.output += said.read().splitlines()

    def run(self, report):
        r, lab = self.result, self.env["LAB"]
        begin = time.monotonic()
        try:
            status = self._call([lab, "up", "--nodes", str(self.case.nodes), "--kernel",
                                 self.kernels, *shlex.split(self.case.args)], 3600)
            booted = time.monotonic() - begin
            if status:
                r.kind = Kind.BOOT if status == STATUS_BOOT else Kind.FAILED
                r.why.append(f"lab up ended with status {status}")
            else:
                self._run_case()
        finally:
            down = self._call([lab, "down"] + (["--keep-logs"] if r.why else []), 120)
        self._judge_down(down)
        r.seconds = int(time.monotonic() - begin)
        cpu = costs.noted(self.spent)
        r.cpu = cpu.get("end", 0.0) - cpu.get("up", 0.0)
        report.boot(self.kernels, f"{self.case.nodes} nodes {self.case.args}", booted,
                    cpu.get("up", 0.0))
        report.labs(cpu.get("end", 0.0))
        return r

    def _run_case(self):
        r, limit = self.result, self.case.seconds(self.tier)
        begin = time.monotonic()
        status = self._call([self.case.path], limit)
        died = {STATUS_BOOT: Kind.BOOT, STATUS_GUEST: Kind.DEAD}.get(status, Kind.FAILED)
        r.kind = flakes.ended(status, time.monotonic() - begin, limit, died)
        if status == 124 and not Clock.left():
            r.kind = Kind.UNREACHED
            r.why.append("the run's time was up in it")
        elif status:
            r.why.append(f"no end after {limit} s" if r.kind is Kind.LATE else f"status {status}")

    def _judge_down(self, status):
        r = self.result
        if status == STATUS_WARNED:
            r.why.append("a kernel warned")
            # what two nodes said has no first line
            nodes = sum("that fail the run:" in line for line in r.output)
            said = [line for line in r.output if line.startswith("lab:   ")]
            r.kind = flakes.judged(r.kind, said if nodes == 1 and said else ["?"])
        elif status:
            r.kind = Kind.FAILED
            r.why.append("lab down failed")


def keep_output(result):
    """Where all that a failed case said can be read."""
    os.makedirs(LOGS, exist_ok=True)
    path = os.path.join(LOGS, f"{result.case.name}-{result.kernel}.out")
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(result.output) + "\n")
    return path
