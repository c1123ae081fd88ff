# SPDX-License-Identifier: GPL-2.0-only
"""A bridge in its own network namespace, with a tap for each node."""
import subprocess

from .common import must


class Net:
    """Named after the lab, so that several labs do not meet."""

    def __init__(self, name):
        self.ns = name

    def _ip(self, *argv):
        must(["ip", "-n", self.ns, *argv])

    def create(self, nodes):
        self.remove()
        must(["ip", "netns", "add", self.ns])
        self._ip("link", "set", "lo", "up")
        self._ip("link", "add", "br0", "type", "bridge", "stp_state", "0",
                 "forward_delay", "0")
        # no snooping, no learning delays: it should behave like a cable
        self._ip("link", "set", "br0", "mtu", "9000", "up")
        for n in range(1, nodes + 1):
            self._ip("tuntap", "add", "dev", self.tap(n), "mode", "tap")
            self._ip("link", "set", self.tap(n), "mtu", "9000", "master", "br0", "up")

    @staticmethod
    def tap(n):
        return f"t{n}"

    def cut(self, n):
        """Packets of this node vanish; its interface does not notice."""
        self._ip("link", "set", self.tap(n), "nomaster")

    def join(self, n):
        self._ip("link", "set", self.tap(n), "master", "br0")

    def remove(self):
        subprocess.run(["ip", "netns", "del", self.ns], check=False,
                       stderr=subprocess.DEVNULL)
