# SPDX-License-Identifier: GPL-2.0-only
"""`lab up` and what goes with it: several guests that stay until `lab down`.

    GUESTS/meshlab-up-KEY/          KEY: the checkout's, or $MESH_LAB
        lab.json                    what every node is
        nodeN/                      the guest's folder: sockets, console.log
        nodeN/drive*.img, state.img outlive `kill`
"""
import fcntl
import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time

from . import chaos, costs, volatile, warnings
from .channel import Command, GuestGone, Timeout
from .common import GUESTS, STATUS_GUEST, STATUS_WARNED, TOP, BootFailed, LabError, say, size
from .guest import Drive, Guest
from .net import Net
from .run import died_in_patching, drive_bus, guest_path, keep_log

PORTS = 8               # commands at a time in one node
STATE_SIZE = "256M"
# What a Guest is made of again by a later call of `lab`.
KEPT = ("cpus", "mem", "append", "addr", "tap", "netns", "state_disk", "ports",
        "extra_modules", "faults", "systemd", "rxe_params", "accel", "volatile", "drive_bus")


def key():
    name = os.environ.get("MESH_LAB", "")
    return hashlib.md5(f"{TOP} {name}".encode()).hexdigest()[:8]


def folder():
    return os.path.join(GUESTS, f"meshlab-up-{key()}")


def net():
    return Net(f"meshlab-{key()}")


def _save(guests):
    data = [{"name": g.name, "kernel": g.kernel_name,
             "drives": [[d.path, d.lba, d.gone] for d in g.drives],
             **{k: getattr(g, k) for k in KEPT}} for g in guests]
    path = os.path.join(folder(), "lab.json")
    with open(path + ".tmp", "w", encoding="utf-8") as f:
        json.dump(data, f, indent=1)
    os.rename(path + ".tmp", path)


def _load():
    try:
        with open(os.path.join(folder(), "lab.json"), encoding="utf-8") as f:
            data = json.load(f)
    except FileNotFoundError:
        raise LabError("no lab is up here: lab up --nodes N") from None
    guests = []
    for d in data:
        g = Guest(d["name"], os.path.join(folder(), d["name"]), d["kernel"])
        for k in KEPT:
            setattr(g, k, d[k])
        g.drives = [Drive(*x) for x in d["drives"]]
        g.detach = True
        guests.append(g)
    return guests


def node(name):
    """'2' or 'node2'."""
    if name.isdigit():
        name = f"node{name}"
    for g in _load():
        if g.name == name:
            return g
    raise LabError(f"no {name} in this lab")


def _number(g):
    return int(g.name.removeprefix("node"))


def _make(n, which, args):
    g = Guest(f"node{n}", os.path.join(folder(), f"node{n}"), which)
    g.cpus = args.cpus
    g.mem = args.mem if args.mem[-1].isalpha() else args.mem + "G"
    g.append = args.append
    g.addr = f"10.77.0.{n}"
    g.tap = [Net.tap(n), f"52:54:00:{key()[:2]}:{key()[2:4]}:{n:02x}"]
    g.netns = net().ns
    g.ports = PORTS
    g.detach = True
    g.volatile = args.volatile_drives
    g.drive_bus = drive_bus(args)
    g.faults = args.faults
    g.systemd = args.systemd
    g.extra_modules = [os.path.abspath(m) for m in args.module]
    if args.chaos is not None:
        g.extra_modules.append(chaos.module(g.kernel))
        g.rxe_params = f"chaos={args.chaos_bits} chaos_pct={args.chaos}"
    os.makedirs(g.folder)
    g.state_disk = g.path("state.img")
    with open(g.state_disk, "wb") as f:
        f.truncate(size(STATE_SIZE))
    for i in range(args.drives):
        path = g.path(f"drive{i}.img")
        with open(path, "wb") as f:
            f.truncate(size(args.drive_size))
        g.drives.append(Drive(path, args.lba))
    return g


def _wait(guests, seconds):
    """Until every agent answers."""
    deadline = time.monotonic() + seconds
    for g in guests:
        try:
            _command(g, ["true"], wait=True).run(None, deadline, g.alive)
        except GuestGone:
            raise BootFailed(f"{g.name} died at boot, console log "
                             f"{keep_log(g, g.name)}") from None
        except Timeout:
            raise BootFailed(f"{g.name} did not come up within {seconds:.0f} s "
                             f"(--boot-timeout), console log {keep_log(g, g.name)}") from None


def _start(guests, seconds):
    """Boot; a guest of which a CPU dies in code patching gets a second go."""
    for g in guests:
        g.start()
    for g in guests:
        try:
            _wait([g], seconds)
        except BootFailed as e:
            g.kill()
            if not died_in_patching(g.console):
                raise
            say(f"{e}; once more")
            os.rename(g.console, g.console + ".1")
            g.start()
            _wait([g], seconds)


def up(args):
    if os.path.exists(folder()):
        raise LabError("a lab of this checkout is up already: lab down")
    kernels = args.kernel.split(",")
    os.makedirs(folder())
    try:
        net().create(args.nodes)
        guests = [_make(n, kernels[(n - 1) % len(kernels)], args)
                  for n in range(1, args.nodes + 1)]
        _save(guests)
        begin = time.monotonic()
        _start(guests, args.boot_timeout)
        say(f"{len(guests)} nodes up in {time.monotonic() - begin:.0f} s")
        costs.note("up", sum(costs.of_process(g.pid()) for g in guests))
    except BaseException:
        _clear()
        raise
    return 0


def _clear():
    """Nothing of the lab is left."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        for g in _load():
            g.kill()
            volatile.stop(g)
    except LabError:
        pass
    net().remove()
    shutil.rmtree(folder(), ignore_errors=True)


def check(guests):
    """The warning gate over all nodes; 0 or STATUS_WARNED."""
    status = 0
    for g in guests:
        bad = warnings.find(g.console)
        if bad:
            say(f"{g.name}: the kernel said {len(bad)} thing(s) that fail the run:")
            for line in bad[:8]:
                say("  " + line)
            say(f"{g.name}: console log {keep_log(g, g.name)}")
            status = STATUS_WARNED
    return status


def do_check(_args):
    return check(_load())


def down(args):
    try:
        guests = _load()
    except LabError:
        _clear()                # half a lab, or none
        return 0
    if args.keep_logs:
        for g in guests:
            say(f"{g.name}: console log {keep_log(g, g.name)}")
    status = check(guests)
    _clear()
    return status


def _command(g, argv, wait=False, **kw):
    """A command on a free port of the node; the port is held by a lock."""
    while True:
        for n in range(g.ports):
            lock = open(g.path(f"port{n}.lock"), "w", encoding="ascii")
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                lock.close()
                continue
            cmd = Command(g.port(n), argv, **kw)
            cmd.lock = lock
            return cmd
        if not wait:
            wait = True
            say(f"all {g.ports} ports of {g.name} are busy, waiting")
        time.sleep(0.1)


def execute(args):
    g = node(args.node)
    if not g.alive():
        raise LabError(f"{g.name} is not running: lab start {g.name}")
    argv = args.command
    if os.path.isfile(argv[0]) and "/" in argv[0]:
        argv = [guest_path(argv[0])] + argv[1:]
    is_tty = args.tty
    stdin = 0 if is_tty or not sys.stdin.isatty() and args.stdin else None
    deadline = time.monotonic() + args.timeout if args.timeout else None
    cmd = _command(g, argv, cwd=guest_path(os.getcwd()), want_tty=is_tty, stdin=stdin)
    try:
        return cmd.run(deadline, time.monotonic() + 60, g.alive)
    except GuestGone:
        say(f"{g.name} died")
        return STATUS_GUEST
    except Timeout:
        say(f"{g.name}: no end after {args.timeout} s" if cmd.begun
            else f"{g.name} does not answer")
        return 124


def kill(args):
    """Power cut: what the guest or its drives had not written is lost."""
    g = node(args.node)
    g.kill()
    volatile.cut(g)
    return 0


def start(args):
    g = node(args.node)
    if g.alive():
        raise LabError(f"{g.name} is running")
    _start([g], args.boot_timeout)
    return 0


def pause(args):
    with node(args.node).qmp() as q:
        q("stop")
    return 0


def resume(args):
    with node(args.node).qmp() as q:
        q("cont")
    return 0


def _drive(args):
    guests = _load()
    g = next((g for g in guests if _number(g) == _number(node(args.node))), None)
    if not 0 <= args.drive < len(g.drives):
        raise LabError(f"{g.name} has drives 0 to {len(g.drives) - 1}")
    return guests, g, g.drives[args.drive]


def unplug(args):
    guests, g, d = _drive(args)
    if d.gone:
        raise LabError("that drive is out already")
    with g.qmp() as q:
        q("device_del", id=f"drive{args.drive}")
        try:
            q.wait_event("DEVICE_DELETED")
        except socket.timeout:
            raise LabError("the guest did not let go of the drive") from None
    d.gone = True
    _save(guests)
    return 0


def plug(args):
    guests, g, d = _drive(args)
    if not d.gone:
        raise LabError("that drive is in already")
    with g.qmp() as q:
        q("device_add", **g.drive_device(args.drive))
    d.gone = False
    _save(guests)
    return 0


def swap(args):
    """What a pair of hands does between two machines that are off."""
    paths = []
    for which, drive in ((args.node, args.drive), (args.node2, args.drive2)):
        g = node(which)
        if g.alive() or g.volatile:
            raise LabError(f"{g.name} runs" if g.alive() else "not with volatile drives")
        if not 0 <= drive < len(g.drives):
            raise LabError(f"{g.name} has drives 0 to {len(g.drives) - 1}")
        paths.append(g.drives[drive].path)
    spare = paths[0] + ".swap"
    os.rename(paths[0], spare)
    os.rename(paths[1], paths[0])
    os.rename(spare, paths[1])
    return 0


def link(args):
    """up, down (carrier lost), cut (silent), loss=P% (of what it sends)."""
    g = node(args.node)
    n = _number(g)
    if args.what == "up":
        net().join(n)
        with g.qmp() as q:
            q("set_link", name="net0", up=True)
        _guest_tc(g, "qdisc del dev eth0 root", may_fail=True)
    elif args.what == "down":
        with g.qmp() as q:
            q("set_link", name="net0", up=False)
    elif args.what == "cut":
        net().cut(n)
    elif args.what.startswith("loss="):
        loss = args.what[5:].rstrip("%")
        _guest_tc(g, f"qdisc replace dev eth0 root netem limit 20000 loss {float(loss)}%")
    else:
        raise LabError("lab link NODE up|down|cut|loss=P%")
    return 0


def _guest_tc(g, words, may_fail=False):
    said = []
    cmd = _command(g, ["tc", *words.split()], stdout=said.append, stderr=said.append)
    status = cmd.run(time.monotonic() + 60, time.monotonic() + 60, g.alive)
    if status and not may_fail:
        raise LabError(f"tc {words}: {b''.join(said).decode()}")


def console(args):
    """Its log so far and on, until Ctrl-C; `lab exec -t NODE bash` is a shell."""
    g = node(args.node)
    try:
        subprocess.run(["tail", "-n", str(args.lines), "-F", g.console], check=False)
    except KeyboardInterrupt:
        pass
    return 0


def status(_args):
    for g in _load():
        state = "down"
        if g.alive():
            with g.qmp() as q:
                state = q("query-status")["status"]
        gone = [str(i) for i, d in enumerate(g.drives) if d.gone]
        print(f"{g.name} {g.addr} {g.kernel.release} {state} {len(g.drives)} drives"
              + (f", without {','.join(gone)}" if gone else ""))
    return 0
