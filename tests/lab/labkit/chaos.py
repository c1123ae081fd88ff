# SPDX-License-Identifier: GPL-2.0-only
"""Builds the hostile Soft-RoCE of chaos/ out of Debian's kernel source."""
import fcntl
import hashlib
import os
import re
import shutil

from .common import LAB, LabError, cache_dir, must, say

OWN = ("rxe_chaos.c", "rxe_chaos.h")
SOURCE = "drivers/infiniband/sw/rxe"

# LATE_WRITES, READ_SWAP and WRITE_OVERTAKES of rxe_chaos.c: what stays within
# the rules for all users. READ_OLD (2) is for what claims not to need them.
DEFAULT_BITS = 13

INCLUDE = ('#include "rxe_loc.h"\n', '#include "rxe_loc.h"\n#include "rxe_chaos.h"\n')

# file: (pattern, replacement); each pattern must fit exactly once
EDITS = {
    "rxe.c": [
        (r'(static void __exit rxe_module_exit\(void\)\n\{\n(?:.*\n)*?)(\n\tpr_info\("unloaded)',
         r'\1\trxe_chaos_exit();\n\2'),
        INCLUDE,
    ],
    "rxe_comp.c": [
        (r'(\t\tcase COMPST_READ:\n\t\t\tstate = )(do_read\(qp, pkt, wqe\);\n)',
         r'\1rxe_chaos_cut(pkt) ? COMPST_ERROR : \2'),
        INCLUDE,
    ],
    "rxe_mr.c": [
        (r'(void rxe_mr_cleanup\((?:.*\n)*?)(\trxe_put\(mr_pd\(mr\)\);\n)',
         r'\1\trxe_chaos_flush_mr(mr);\n\2'),
        (r'(int rxe_invalidate_mr\((?:.*\n)*?\tmr->state = RXE_MR_STATE_FREE;\n)',
         r'\1\trxe_chaos_flush_mr(mr);\n'),
        INCLUDE,
    ],
    "rxe_qp.c": [
        (r'(\t/\* cleanup attributes \*/\n)', r'\trxe_chaos_forget_qp(qp);\n\n\1'),
        (r'(\tif \(qp->srq\)\n\t\trxe_put\(qp->srq\);\n\n\tif \(qp->rq\.queue\)\n)',
         r'\trxe_chaos_forget_qp(qp);\n\n\1'),
        INCLUDE,
    ],
    "rxe_recv.c": [
        (r'(\tpkt->mask \|= rxe_opcode\[pkt->opcode\]\.mask;\n)',
         r'\1\n\tif (rxe_chaos_lose(pkt))\n\t\tgoto drop;\n'),
        INCLUDE,
    ],
    "rxe_resp.c": [
        (r'\terr = (rxe_mr_copy\(qp->resp\.mr, qp->resp\.va \+ qp->resp\.offset,\s+'
         r'payload_addr\(pkt\), data_len, RXE_TO_MR_OBJ\);\n)',
         r'\terr = rxe_chaos_stash(qp, pkt, qp->resp.mr,\n'
         r'\t\t\t\tqp->resp.va + qp->resp.offset, data_len) ? 0 :\n\t\t\1'),
        (r'rxe_mr_copy\(mr, res->read\.va, payload_addr\(&ack_pkt\),\s+payload, RXE_FROM_MR_OBJ\)',
         r'rxe_chaos_read_copy(qp, res, mr, payload_addr(&ack_pkt), payload)'),
        (r'(\t\tcase RESPST_READ_REPLY:\n)(\t\t\tstate = read_reply)',
         r'\1\t\t\tif (!qp->resp.res)\n\t\t\t\trxe_chaos_before_read(qp, pkt);\n\2'),
        (r'(\t\tcase RESPST_COMPLETE:\n)(\t\t\tstate = do_complete)',
         r'\1\t\t\trxe_chaos_flush_qp(qp);\n\2'),
        (r'(\t\tcase RESPST_ATOMIC_REPLY:\n)(\t\t\tstate = atomic_reply)',
         r'\1\t\t\trxe_chaos_flush_qp(qp);\n\2'),
        INCLUDE,
    ],
    "Makefile": [
        (r'obj-\$\(CONFIG_RDMA_RXE\)', r'obj-m'),
        (r'(rdma_rxe-y := \\\n)', r'\1\trxe_chaos.o \\\n'),
    ],
}

# Only where the kernel has them.
OPTIONAL = {
    "rxe_resp.c": [
        (r'(\t\tcase RESPST_ATOMIC_WRITE_REPLY:\n)(\t\t\tstate = atomic_write_reply)',
         r'\1\t\t\trxe_chaos_flush_qp(qp);\n\2'),
        (r'(\t\tcase RESPST_PROCESS_FLUSH:\n)(\t\t\tstate = process_flush)',
         r'\1\t\t\trxe_chaos_flush_qp(qp);\n\2'),
    ],
}


def _edit(folder):
    for name, edits in EDITS.items():
        path = os.path.join(folder, name)
        with open(path, encoding="utf-8") as f:
            text = f.read()
        for pattern, new in edits:
            text, n = re.subn(pattern, new, text)
            if n != 1:
                raise LabError(f"chaos: {name}: {pattern!r} fits {n} times, not once")
        for pattern, new in OPTIONAL.get(name, ()):
            text = re.sub(pattern, new, text)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)


def _unpack(kernel, folder):
    """Debian's rdma_rxe of this kernel into `folder`."""
    if kernel.source:
        shutil.copytree(os.path.join(kernel.source, SOURCE), folder)
        return
    series = ".".join(kernel.release.split(".")[:2])
    name = f"linux-source-{series}"
    tarball = f"/usr/src/{name}.tar.xz"
    if not os.path.exists(tarball):
        raise LabError(f"no {tarball}: apt install {name}")
    os.makedirs(folder)
    must(["tar", "-xf", tarball, "-C", folder, f"--strip-components={SOURCE.count('/') + 2}",
          "--wildcards", f"{name}/{SOURCE}/*"])


def module(kernel):
    """rdma_rxe.ko of the hostile kind for a kernel; built once."""
    h = hashlib.sha256(f"{kernel.release} {EDITS} {OPTIONAL}".encode())
    for f in OWN:
        with open(os.path.join(LAB, "chaos", f), "rb") as src:
            h.update(src.read())
    base = cache_dir("chaos")
    folder = os.path.join(base, f"{kernel.release}-{h.hexdigest()[:12]}")
    ko = os.path.join(folder, "rdma_rxe.ko")
    with open(os.path.join(base, ".lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.exists(ko):
            return ko
        say(f"building the hostile Soft-RoCE for {kernel.release}")
        tmp = folder + ".tmp"
        shutil.rmtree(tmp, ignore_errors=True)
        _unpack(kernel, tmp)
        _edit(tmp)
        for f in OWN:
            shutil.copy(os.path.join(LAB, "chaos", f), tmp)
        must(["make", "-C", f"{kernel.modules}/build", f"M={tmp}", "modules"])
        os.makedirs(folder, exist_ok=True)
        os.rename(os.path.join(tmp, "rdma_rxe.ko"), ko)
        shutil.rmtree(tmp)
    return ko
