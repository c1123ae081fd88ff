# SPDX-License-Identifier: GPL-2.0-only
"""What the rows are, and what is aimed at. Ratios; nothing passes or fails by them."""
from rows import Row

SYNC = "--sync=dsync"

PLAIN = [
    Row("4K read QD1", "randread", "4k", 1),
    Row("4K read QD4", "randread", "4k", 4),
    Row("4K read QD32", "randread", "4k", 32),
    Row("4K read 16 at once", "randread", "4k", 32,
        "--iodepth_batch_submit=16 --iodepth_batch_complete_min=16"),
    Row("4K read four jobs", "randread", "4k", 8, "--numjobs=4"),
    Row("4K read io_uring", "randread", "4k", 32, "--ioengine=io_uring"),
    Row("4K write QD1", "randwrite", "4k", 1),
    Row("4K write QD4", "randwrite", "4k", 4),
    Row("4K write QD32", "randwrite", "4k", 32),
    Row("4K write 16 at once", "randwrite", "4k", 32,
        "--iodepth_batch_submit=16 --iodepth_batch_complete_min=16"),
    Row("4K write four jobs", "randwrite", "4k", 8, "--numjobs=4"),
    Row("4K write io_uring", "randwrite", "4k", 32, "--ioengine=io_uring"),
    Row("70/30 QD32", "randrw", "4k", 32, "--rwmixread=70"),
    Row("128K read QD8", "randread", "128k", 8),
    Row("128K write QD8", "randwrite", "128k", 8),
    Row("1M read QD4", "randread", "1m", 4),
    Row("1M write QD4", "randwrite", "1m", 4),
]

# (row, system, against, ratio of IOPS at least)
IOPS_AIMS = [
    ("4K read QD1", "linear", "nvme-rdma", 1.34),
    ("4K read QD4", "linear", "nvme-rdma", 1.6),
    ("4K read QD32", "linear", "nvme-rdma", 1.9),
    ("4K read QD32", "linear late", "nvme-rdma late", 1.75),
    ("4K read 16 at once", "linear", "nvme-rdma", None),
    ("4K read four jobs", "linear", "nvme-rdma", None),
    ("4K read io_uring", "linear", "nvme-rdma", None),
    ("4K write QD1", "linear", "nvme-rdma", 1.05),
    ("4K write QD4", "linear", "nvme-rdma", 1.15),
    ("4K write QD32", "linear", "nvme-rdma", 1.6),
    ("4K write QD32", "linear late", "nvme-rdma late", None),
    ("4K write 16 at once", "linear", "nvme-rdma", None),
    ("4K write four jobs", "linear", "nvme-rdma", None),
    ("4K write io_uring", "linear", "nvme-rdma", None),
    ("70/30 QD32", "linear", "nvme-rdma", 1.75),
    ("128K read QD8", "linear", "nvme-rdma", 1.25),
    ("128K write QD8", "linear", "nvme-rdma", 1.18),
    ("1M read QD4", "linear", "nvme-rdma", 1.1),
    ("1M write QD4", "linear", "nvme-rdma", 1.15),
    ("4K read QD32", "stripe:4", "md RAID-0", 2.0),
    ("4K write QD32", "stripe:4", "md RAID-0", 2.0),
]

# (row, system, against, what of it, bound): at least, or at most when it is negative
PLAIN_AIMS = [(row, system, against, "iops", bound) for row, system, against, bound in IOPS_AIMS]

STRIP_K = 64


def level_rows(data):
    """data: strips of a stripe that hold data."""
    stripe = STRIP_K * data
    return [
        Row("4K read QD1", "randread", "4k", 1),
        Row("4K read QD32", "randread", "4k", 32),
        Row("4K write QD1", "randwrite", "4k", 1),
        Row("4K write QD32", "randwrite", "4k", 32),
        Row("128K read QD8", "randread", "128k", 8),
        Row("128K write QD8", "randwrite", "128k", 8),
        Row(f"{stripe}K stripe write", "randwrite", f"{stripe}k", 8),
        Row("64K in order QD16", "write", "64k", 16),
        Row("4K in order sync", "write", "4k", 1, SYNC),
    ]


DEGRADED = Row("4K read degraded", "randread", "4k", 32)
FOREGROUND = Row("4K write, alone", "randwrite", "4k", 4)

READS = ("4K read QD1", "4K read QD32", "128K read QD8")


def level_aims(level, data):
    """As PLAIN_AIMS."""
    stripe = f"{STRIP_K * data}K stripe write"
    kind = level.split(":", maxsplit=1)[0]
    md = {"mirror": "md RAID-1", "raid10": "md RAID-10"}.get(
        kind, "md RAID-6" if level.endswith("+2") else "md RAID-5")
    aims = [(row, level, "stripe", "iops", 0.97) for row in READS]
    aims += [(row, level, md, "iops", None) for row in READS]
    if kind in ("mirror", "raid10"):
        aims += [("4K write QD1", level, md, "iops", None),
                 ("4K write QD32", level, md, "iops", 2.0 if kind == "mirror" else None),
                 ("4K write QD32", level, "linear", "iops", 0.45 if kind == "mirror" else None),
                 ("128K write QD8", level, md, "iops", 1.12 if kind == "raid10" else None),
                 ("4K in order sync", level, md, "iops", None)]
    else:
        aims += [("4K write QD1", level, md, "mean_us", -1.1),
                 ("4K write QD1", level, "mirror:2", "mean_us", -3.3),
                 ("4K write QD32", level, md, "iops", 1.0),
                 ("4K write QD32", level, "raid10", "iops", 0.27),
                 ("4K write QD32", level, "linear", "iops", None),
                 ("128K write QD8", level, md, "iops", None),
                 (stripe, level, md, "iops", 0.6),
                 ("4K in order sync", level, md, "iops", None),
                 ("4K in order sync", level, "raid10", "iops", 0.5)]
    aims += [("64K in order QD16", level, md, "iops", None),
             (DEGRADED.name, level, md, "iops", 1.0)]
    return aims
