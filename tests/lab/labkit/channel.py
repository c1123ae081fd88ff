# SPDX-License-Identifier: GPL-2.0-only
"""The host's end of guest/agent: run one command over one port."""
import json
import os
import select
import shutil
import signal
import socket
import struct
import sys
import termios
import time
import tty

MAGIC = b"LAB\0"
HEAD = struct.Struct(">4scI")


class GuestGone(Exception):
    """The port closed before an exit status came."""


class Timeout(Exception):
    """The guest did not come up, or the command did not end, in time."""


class Command:
    """One command in a guest. run() streams and returns its exit status."""

    def __init__(self, sock_path, argv, env=None, cwd="/", want_tty=False,
                 stdin=None, stdout=1, stderr=2):
        self.path = sock_path
        self.stdin, self.stdout, self.stderr = stdin, stdout, stderr
        self.job = {"nonce": os.urandom(8).hex(), "argv": argv, "cwd": cwd,
                    "env": env or {}, "tty": want_tty}
        if want_tty:
            size = shutil.get_terminal_size()
            self.job["winsize"] = [size.lines, size.columns]
            self.job["env"].setdefault("TERM", os.environ.get("TERM", "linux"))
        self.begun = False
        self.buf = b""
        self.status = None
        self.sock = None

    def send(self, kind, body=b""):
        self.sock.sendall(HEAD.pack(MAGIC, kind, len(body)) + body)

    def hello(self):
        self.send(b"H", json.dumps(self.job).encode())

    def run(self, deadline=None, boot_deadline=None, alive=None):
        """alive() says whether the guest still runs; deadlines are
        time.monotonic() values: for the command, and for its begin."""
        self.sock = socket.socket(socket.AF_UNIX)
        try:
            self._connect(boot_deadline, alive)
            restore = self._raw_tty()
            try:
                return self._loop(deadline, boot_deadline, alive)
            finally:
                restore()
        finally:
            self.sock.close()

    def _connect(self, deadline, alive):
        while True:
            try:
                self.sock.connect(self.path)
                return self.hello()
            except OSError:
                if alive and not alive():
                    raise GuestGone from None
                if deadline and time.monotonic() > deadline:
                    raise Timeout from None
                time.sleep(0.05)

    def _raw_tty(self):
        if not self.job["tty"] or self.stdin is None or not os.isatty(self.stdin):
            return lambda: None
        old = termios.tcgetattr(self.stdin)
        tty.setraw(self.stdin)

        def winch(*_):
            size = shutil.get_terminal_size()
            self.send(b"w", json.dumps([size.lines, size.columns]).encode())

        old_winch = signal.signal(signal.SIGWINCH, winch)

        def restore():
            termios.tcsetattr(self.stdin, termios.TCSADRAIN, old)
            signal.signal(signal.SIGWINCH, old_winch)

        return restore

    def _loop(self, deadline, boot_deadline, alive):
        again = time.monotonic() + 2
        while self.status is None:
            now = time.monotonic()
            limit = deadline if self.begun else boot_deadline
            if limit and now > limit:
                raise Timeout
            if not self.begun and now > again:
                self.hello()            # the first one may have hit a dying session
                again = now + 10
            fds = [self.sock]
            if self.begun and self.stdin is not None:
                fds.append(self.stdin)
            ready = select.select(fds, [], [], 0.5)[0]
            if self.sock in ready:
                data = self._recv()
                if not data:
                    raise GuestGone
                self.buf += data
                self._frames()
            elif alive and not alive():
                raise GuestGone
            if self.stdin is not None and self.stdin in ready:
                self._stdin()
        return self.status

    def _recv(self):
        try:
            return self.sock.recv(65536)
        except ConnectionError:
            return b""

    def _stdin(self):
        data = os.read(self.stdin, 4096)
        self.send(b"i", data)
        if not data:
            self.stdin = None

    def _frames(self):
        while True:
            at = self.buf.find(MAGIC)
            if at < 0:
                self.buf = self.buf[-3:]
                return
            self.buf = self.buf[at:]
            if len(self.buf) < HEAD.size:
                return
            _, kind, n = HEAD.unpack_from(self.buf)
            if len(self.buf) < HEAD.size + n:
                return
            body = self.buf[HEAD.size:HEAD.size + n]
            self.buf = self.buf[HEAD.size + n:]
            if kind == b"A" and body.decode() == self.job["nonce"]:
                self.begun = True
            elif not self.begun:
                continue                # left over from the port's last user
            elif kind == b"o":
                _write_all(self.stdout, body)
            elif kind == b"e":
                _write_all(self.stderr, body)
            elif kind == b"x":
                self.status = int(body)
                return


def _write_all(fd, data):
    if callable(fd):
        fd(data)
        return
    data = memoryview(data)
    try:
        while data:
            try:
                data = data[os.write(fd, data):]
            except BlockingIOError:
                select.select([], [fd], [])
    except BrokenPipeError:
        sys.exit(141)
