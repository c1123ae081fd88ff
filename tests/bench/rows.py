# SPDX-License-Identifier: GPL-2.0-only
"""Rows of a bench: what fio does, what came of it, what was counted beside it."""
import collections
import glob
import json
import math
import os
import re
import shlex
import statistics
import sys
import tempfile

from systems import Mesh, put, sh

RXE = "/sys/class/infiniband/rxe0/ports/1/hw_counters"
TRACING = "/sys/kernel/tracing"
WINDOW_MS = 25          # of guest time: long enough for a rate, short enough to see a mode
WINDOW_REQUESTS = 40    # in each at least: one more or less is no mode

# What a NIC would feel, in Soft-RoCE's functions; both sides are in this guest. The doorbell of
# a send queue and the arming of a completion queue are MMIOs on mlx5; a receive's is memory.
PROBES = {
    "posts": ("rxe_post_send",),
    "cqes": ("rxe_cq_post",),
    "arms": ("rxe_req_notify_cq",),
    "events": ("ib_cq_completion_softirq", "ib_cq_completion_workqueue",
               "rdda_sq_event", "tgt_queue_event", "tgt_sq_event"),
}

Row = collections.namedtuple("Row", "name rw bs qd more", defaults=("",))


def chosen(rows, pattern):
    """Those whose name fits; said before minutes are spent on devices where none does."""
    try:
        found = [row for row in rows if re.search(pattern, row.name)]
    except re.error as e:
        sys.exit(f"{pattern!r} is no regular expression: {e}")
    if not found:
        sys.exit(f"no row fits {pattern!r}; there are: " + ", ".join(row.name for row in rows))
    return found


def ms(seconds):
    """As fio takes it: of "0.5" it reads the 0."""
    return f"{int(1000 * seconds)}ms"


def fio_options(dev, row, size=""):
    """size: of the device, from its start, that is used; all of it by default"""
    engine = [] if "--ioengine" in row.more else ["--ioengine=libaio"]
    return [f"--filename={dev}", "--direct=1", f"--rw={row.rw}", f"--bs={row.bs}",
            f"--iodepth={row.qd}", "--time_based", "--norandommap", "--randrepeat=1",
            "--group_reporting"] + engine + row.more.split() + ([f"--size={size}"] if size else [])


def fio_command(dev, row, size=""):
    return " ".join(["fio --output-format=json --name=b"] + fio_options(dev, row, size))


def sides(job):
    return [job[s] for s in ("read", "write") if job[s]["total_ios"]]


def modes(rates):
    """The rates between which a system flips: medians of what lies on each side of the widest gap.

    One, if that gap is no wider than 6 %, or if all but a window lie on one side of it.
    """
    rates = sorted(rates)
    if len(rates) < 6:
        return [statistics.median(rates)] if rates else []
    gap, at = max((rates[i] / max(1, rates[i - 1]), i) for i in range(2, len(rates) - 1))
    if gap < 1.06:
        return [statistics.median(rates)]
    return [statistics.median(rates[:at]), statistics.median(rates[at:])]


def widened(runs):
    """The windows of all rounds, joined until each has requests enough."""
    rates = [r for run in runs for r in run]
    each = statistics.mean(rates) * WINDOW_MS / 1000 if rates else WINDOW_REQUESTS
    n = math.ceil(WINDOW_REQUESTS / max(1, each))
    return [statistics.mean(run[i:i + n]) for run in runs for i in range(0, len(run) - n + 1, n)]


def stream_of(path, side):
    """A job's rates in one direction, by window. fio is late at times: then one has two."""
    found = collections.defaultdict(list)
    with open(path, encoding="ascii") as f:
        for line in f:
            when, rate, direction = line.split(",")[:3]
            if int(direction) == side:
                found[int(when) // WINDOW_MS].append(float(rate))
    return {k: statistics.mean(v) for k, v in found.items()}


def windows_of(prefix):
    """Requests a second in each whole window of fio's log, all jobs and directions together."""
    streams = [stream_of(p, side) for p in glob.glob(f"{prefix}_iops*.log") for side in (0, 1)]
    at = [k for s in streams for k in s]
    rates, last = [], [0.0] * len(streams)
    for k in range(min(at, default=0), max(at, default=-1) + 1):
        last = [s.get(k, was) for s, was in zip(streams, last)]
        rates.append(sum(last))
    return rates[1:-1]      # the first and the last are cut short


def outcome(job, windows):
    done = sides(job)
    return {"iops": sum(s["iops"] for s in done), "windows": windows,
            "mean_us": sum(s["lat_ns"]["mean"] * s["total_ios"] for s in done) /
                       max(1, sum(s["total_ios"] for s in done)) / 1000,
            "p99_us": max((s["clat_ns"].get("percentile", {}).get("99.000000", 0)
                           for s in done), default=0) / 1000,
            "max_us": max((s["clat_ns"]["max"] for s in done), default=0) / 1000}


def run_all(systems, row, rounds, seconds):
    """{name: [outcome of each round]}. One fio, which takes the systems by turns: to start it
    takes longer than a round. Each has its ramp."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        cmd = ["fio", "--output-format=json"]
        for n in range(rounds):
            for name, system in systems.items():
                cmd += [f"--name={n}/{name}", "--stonewall",
                        *fio_options(system.dev, row, system.size),
                        f"--runtime={ms(seconds)}", "--ramp_time=50ms",
                        f"--write_iops_log={folder}/{len(cmd)}", f"--log_avg_msec={WINDOW_MS}"]
                system.logs.append(cmd[-2].partition("=")[2])
        out = sh(shlex.join(cmd))
        jobs = {j["jobname"]: j for j in json.loads(out[out.index("{"):])["jobs"]}
        return {name: [outcome(jobs[f"{n}/{name}"], windows_of(system.logs[n - rounds]))
                       for n in range(rounds)] for name, system in systems.items()}


def probes_up():
    """Events that count calls; they cost time, so no row is measured while they are on."""
    sh(f"mountpoint -q {TRACING} || mount -t tracefs tracefs {TRACING}")
    known = set()
    with open("/proc/kallsyms", encoding="ascii") as f:
        known = {line.split()[2] for line in f}
    for kind, functions in PROBES.items():
        for function in functions:
            if function in known:
                sh(f"echo 'p:bench/{kind}.{function} {function}' | tr . _ "
                   f">>{TRACING}/kprobe_events", check=False)


def probe_hits():
    hits = collections.Counter()
    with open(f"{TRACING}/kprobe_profile", encoding="ascii") as f:
        for line in f:
            name, n, _ = line.split()
            hits[name.split("_")[0]] += int(n)
    return hits


def probes(on):
    path = f"{TRACING}/events/bench/enable"
    if os.path.exists(path):
        put(path, int(on))
        return True
    return False


def block_stat(dev):
    """Requests and bytes of a disk, reads and then writes."""
    with open(f"/sys/block/{os.path.basename(dev)}/stat", encoding="ascii") as f:
        s = [int(x) for x in f.read().split()]
    return s[0], s[2] * 512, s[4], s[6] * 512


def counters(system):
    c = collections.Counter()
    for name in ("sent_pkts", "rdma_sends", "rdma_recvs"):
        with open(f"{RXE}/{name}", encoding="ascii") as f:
            c["hw_" + name] = int(f.read())
    reads, read_bytes, writes, write_bytes = block_stat(system.dev)
    c.update(requests=reads + writes, bytes=read_bytes + write_bytes)
    if system.mesh:
        c.update(Mesh.stats())
    for dev in system.below:
        stat = block_stat(dev)
        c.update(below_requests=stat[0] + stat[2], rdma_write_bytes=stat[3])
    if os.path.exists(f"{TRACING}/kprobe_profile"):
        c.update(probe_hits())
    return c


class System:
    """A device that rows are run on. below: nvme-rdma's disks under it."""

    def __init__(self, name, dev, below=(), mesh=False, size=""):
        self.name, self.dev, self.below, self.mesh, self.size = name, dev, below, mesh, size
        self.logs = []          # of fio, as they were begun

    def count(self, row, seconds):
        """What a request takes, of both sides together. A run of its own: probes take time."""
        probed = probes(True)
        before = counters(self)
        sh(fio_command(self.dev, row, self.size) + f" --runtime={ms(seconds)}")
        after = counters(self)
        probes(False)
        d = {k: after[k] - before.get(k, 0) for k in after}
        return self.per_request(d, max(1, d["requests"]), probed)

    def per_request(self, d, n, probed):
        r = {"packets": d["hw_sent_pkts"] / n,
             "payload": d.get("rdma_write_bytes", 0) / max(1, d["bytes"])}
        if probed:
            r.update({k: d.get(k, 0) / n for k in ("posts", "cqes", "events")})
            r["mmios"] = (d.get("posts", 0) + d.get("arms", 0)) / n
        if self.mesh:
            r.update({"SEND": d["hw_rdma_sends"] / n, "WRITE": d.get("rdma_writes", 0) / n,
                      "READ": d.get("rdma_reads", 0) / n, "push": d.get("pushes", 0) / n,
                      "commands": d.get("commands", 0) / n})
        elif self.below:
            r["commands"] = d["below_requests"] / n
        return {k: round(v, 3) for k, v in r.items()}


def summary(runs):
    """Of all rounds of a row: the median, the range, and the modes found."""
    iops = sorted(r["iops"] for r in runs)
    mid = min(runs, key=lambda r: abs(r["iops"] - statistics.median_low(iops)))
    found = modes(widened([r["windows"] for r in runs]))
    return {"iops": mid["iops"], "least": iops[0], "most": iops[-1], "modes": found,
            "faster": max([iops[-1] if len(found) < 2 else found[-1], mid["iops"]]),
            "mean_us": mid["mean_us"], "p99_us": mid["p99_us"],
            "max_us": max(r["max_us"] for r in runs)}
