"""What the replicas run on: a PostgreSQL server, processes that are killed and started again, and a balancer."""

import glob
import os
import socket
import subprocess
import threading
import time

PATIENCE_SECONDS = 60


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A PostgreSQL server in a folder of its own, reached by a socket there."""

    def __init__(self, folder):
        self._folder = folder
        self._data = os.path.join(folder, "data")
        programs = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
        if not programs:
            raise RuntimeError("PostgreSQL is not installed: scripts/install_packages postgres")
        self._programs = programs[-1]
        os.chmod(folder, 0o777)
        self._call("initdb", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale")
        self._call("pg_ctl", "-w", "-l", os.path.join(folder, "server.log"), "-o",
                   "-c listen_addresses= -c unix_socket_directories=" + folder, "start")

    def url(self, database):
        return "postgres://postgres@/%s?host=%s" % (database, self._folder)

    def close(self):
        self._call("pg_ctl", "-w", "-m", "immediate", "stop")

    def _call(self, program, *arguments):
        # The server refuses to run as root.
        user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        done = subprocess.run([*user, os.path.join(self._programs, program), "-D", self._data, *arguments], cwd="/",
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            raise RuntimeError("%s failed: %s" % (program, done.stderr))


class Process:
    """A program that is started again after each kill."""

    def __init__(self, name, folder, command, ready, environment=None):
        self.name = name
        self.kills = 0
        self._command = command
        self._ready = ready
        self._environment = {**os.environ, **(environment or {})}
        self._log = os.path.join(folder, name.replace(" ", "_") + ".log")
        self._process = None

    def start(self):
        with open(self._log, "ab") as log:
            self._process = subprocess.Popen(self._command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                             env=self._environment)

    def await_ready(self):
        end = time.monotonic() + PATIENCE_SECONDS
        while self._ready not in self._text():
            self.check()
            if time.monotonic() > end:
                raise RuntimeError("%s does not start; it said:\n%s" % (self.name, self._text()))
            time.sleep(0.02)

    def check(self):
        if self._process.poll() is not None:
            raise RuntimeError("%s ended by itself (status %d); it said:\n%s" % (
                self.name, self._process.returncode, self._text()[-2000:]))

    def kill(self):
        self.check()
        self.close()
        self.kills += 1

    def close(self):
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def _text(self):
        with open(self._log, errors="replace") as log:
            return log.read()


class Balancer:
    """One address for several replicas: each connection goes to the next one that answers."""

    def __init__(self, ports):
        self._ports = ports
        self._next = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            client, _ = self._listener.accept()
            self._next += 1
            threading.Thread(target=self._connect, args=(client, self._next), daemon=True).start()

    def _connect(self, client, first):
        for turn in range(len(self._ports)):
            try:
                replica = socket.create_connection(("127.0.0.1", self._ports[(first + turn) % len(self._ports)]))
            except OSError:
                continue
            threading.Thread(target=self._pass, args=(replica, client), daemon=True).start()
            self._pass(client, replica)
            return
        client.close()

    @staticmethod
    def _pass(source, target):
        try:
            while True:
                data = source.recv(65536)
                if not data:
                    break
                target.sendall(data)
        except OSError:
            pass
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
