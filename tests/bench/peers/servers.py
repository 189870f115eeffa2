"""Starts a queue's server in a folder of its own on a free port of the loopback, and ends it whatever happens."""

import contextlib
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

from queues import HOST, as_user

PATIENCE_S = 30


def free_port():
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return probe.getsockname()[1]


def _accepts(port):
    with contextlib.suppress(OSError), socket.create_connection((HOST, port), timeout=1):
        return True
    return False


def _is_ready(queue, port):
    if queue.ready is None:
        return _accepts(port)
    return subprocess.run(queue.ready(port), check=False).returncode == 0


def _child_of(pid):
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])


class Server:
    """A running server: `port`, and `pid`, its own even when it is traced."""

    def __init__(self, queue, folder, tracer, environment):
        self._folder = folder
        self.port = free_port()
        # Within the tracer once more: a server must not outlive it either.
        command = [*tracer, *as_user(None, queue.command(folder, self.port))]
        self._log = folder / "server.log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(as_user(queue.user, command), stdin=subprocess.DEVNULL, stdout=log,
                                             stderr=subprocess.STDOUT, cwd="/", env=environment, start_new_session=True)
        self.pid = None
        try:
            self._await(queue)
            self.pid = _child_of(self._process.pid) if tracer else self._process.pid
        except BaseException:
            self.end()
            raise

    def _await(self, queue):
        deadline = time.monotonic() + PATIENCE_S
        while not _is_ready(queue, self.port):
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{queue.name} does not start: {self._log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.02)

    def end(self):
        # PostgreSQL would wait for its clients after SIGTERM; the others take either.
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid or self._process.pid, signal.SIGINT)
        try:
            self._process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


@contextlib.contextmanager
def running(queue, folder, tracer, environment):
    server = Server(queue, folder, tracer, environment)
    try:
        yield server
    finally:
        server.end()
