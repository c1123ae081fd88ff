# SPDX-License-Identifier: GPL-2.0-only
"""What the benches measure: nvme-rdma and Meshblk in one guest, over RAM drives."""
import os
import subprocess
import sys
import time

ADDR = "10.77.0.1"
NQN = "nqn.2020-01.meshblk.bench"
ROWS = [  # name, fio rw, block size, queue depth
    ("4K read QD1", "randread", "4k", 1),
    ("4K read QD32", "randread", "4k", 32),
    ("4K write QD1", "randwrite", "4k", 1),
    ("4K write QD32", "randwrite", "4k", 32),
    ("128K read QD8", "randread", "128k", 8),
    ("128K write QD8", "randwrite", "128k", 8),
]


def sh(cmd, check=True):
    r = subprocess.run(cmd, shell=True, text=True, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT)
    if check and r.returncode:
        sys.exit(f"bench: {cmd}: {r.returncode}\n{r.stdout}")
    return r.stdout.strip()


def put(path, value):
    with open(path, "w", encoding="ascii") as f:
        f.write(value)


def ram_drives(n):
    """Filled, for an unwritten RAM drive answers from nothing."""
    sh(f"modprobe brd rd_nr={n} rd_size=262144")
    for i in range(n):
        sh(f"dd if=/dev/zero of=/dev/ram{i} bs=1M oflag=direct status=none", check=False)
    return [f"/dev/ram{i}" for i in range(n)]


def fio_command(dev, rw, bs, qd):
    return (f"fio --name=b --filename={dev} --direct=1 --ioengine=libaio --rw={rw} "
            f"--bs={bs} --iodepth={qd} --time_based --norandommap --randrepeat=1 "
            f"--output-format=json")


def nvmet_up(backing):
    """One subsystem, one namespace, in-capsule data at nvmet's default."""
    for m in ("nvmet", "nvmet-rdma", "nvme-rdma"):
        sh(f"modprobe {m}")
    sh("mountpoint -q /sys/kernel/config || mount -t configfs configfs /sys/kernel/config")
    sub = f"/sys/kernel/config/nvmet/subsystems/{NQN}"
    port = "/sys/kernel/config/nvmet/ports/1"
    os.mkdir(sub)
    put(f"{sub}/attr_allow_any_host", "1")
    os.mkdir(f"{sub}/namespaces/1")
    put(f"{sub}/namespaces/1/device_path", backing)
    put(f"{sub}/namespaces/1/enable", "1")
    os.mkdir(port)
    for k, v in (("addr_trtype", "rdma"), ("addr_adrfam", "ipv4"),
                 ("addr_traddr", ADDR), ("addr_trsvcid", "4420")):
        put(f"{port}/{k}", v)
    os.symlink(sub, f"{port}/subsystems/{NQN}")
    before = set(os.listdir("/sys/block"))
    sh(f"nvme connect -t rdma -a {ADDR} -s 4420 -n {NQN}")
    for _ in range(1000):       # virtual time runs on while the host is busy
        # nvme0c0n1, one path of nvme0n1, has no device
        new = [d for d in set(os.listdir("/sys/block")) - before
               if d.startswith("nvme") and os.path.exists("/dev/" + d)]
        if new:
            return "/dev/" + new[0]
        time.sleep(0.1)
    sys.exit("bench: nvme-rdma showed no namespace")


def nvmet_down():
    sh(f"nvme disconnect -n {NQN}")
    sub = f"/sys/kernel/config/nvmet/subsystems/{NQN}"
    port = "/sys/kernel/config/nvmet/ports/1"
    os.unlink(f"{port}/subsystems/{NQN}")
    os.rmdir(port)
    put(f"{sub}/namespaces/1/enable", "0")
    os.rmdir(f"{sub}/namespaces/1")
    os.rmdir(sub)
    sh("modprobe -r nvme-rdma nvmet-rdma nvmet", check=False)


def mesh_up(backing, layout):
    """meshd, the RAM drives exported, one volume; returns its device."""
    if subprocess.run(["meshctl", "version"], capture_output=True, check=False).returncode:
        os.makedirs("/var/lib/meshd", exist_ok=True)
        with open("/run/meshd.log", "wb") as log:
            subprocess.Popen(["meshd"], stdout=log, stderr=log, start_new_session=True)
        for _ in range(1000):
            if not subprocess.run(["meshctl", "version"], capture_output=True,
                                  check=False).returncode:
                break
            time.sleep(0.1)
        sh(f"meshctl host add {ADDR}")
    for dev in backing:
        sh(f"meshctl drive export --force --erase-label {dev}")
    return sh(f"meshctl volume create bench --size 200M --layout {layout}").split()[-1]
