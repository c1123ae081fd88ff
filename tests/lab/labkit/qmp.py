# SPDX-License-Identifier: GPL-2.0-only
"""QEMU's machine protocol, as much as the lab needs."""
import json
import socket

from .common import LabError


class Qmp:
    """One short connection: with Qmp(path) as q: q("stop")."""

    def __init__(self, path, timeout=60):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(timeout)
        try:
            self.sock.connect(path)
            self.file = self.sock.makefile("r", encoding="utf-8")
            self.file.readline()
            self("qmp_capabilities")
        except OSError as e:
            raise LabError(f"cannot reach the guest's QEMU: {e}") from e

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.sock.close()

    def __call__(self, command, **args):
        msg = {"execute": command, "arguments": args}
        self.sock.sendall(json.dumps(msg).encode())
        while True:
            line = self.file.readline()
            if not line:
                return None             # it quit, as requested
            reply = json.loads(line)
            if "error" in reply:
                raise LabError(f"QEMU: {command}: {reply['error']['desc']}")
            if "return" in reply:
                return reply["return"]

    def wait_event(self, name):
        """Read on until an event of this name comes. A guest that lets go of a
        drive has work to do first, and may be slow."""
        self.sock.settimeout(120)
        while True:
            line = self.file.readline()
            if not line:
                return None
            reply = json.loads(line)
            if reply.get("event") == name:
                return reply
