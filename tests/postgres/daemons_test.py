"""Goal: P3 P4 P5 over PostgreSQL: each message that was enqueued takes effect once, in its session's order, whatever ends the
daemons, the applications and the server's connections.

Method: two real `ackbox serve`, each on a database of its own, send to each other. A Python application at each takes what
comes in from a stream, and writes a row and the mark in one transaction. Threads enqueue on both sides, while a seeded loop
kills one of the four processes, or all the connections of a database, after the other. In the end the tables of effects are
compared with what was enqueued, nothing may be left, and `verify` must find nothing.

    daemons_test.py PROGRAM SOURCE_DIR [--kills N] [--seed N]

A server is started in a temporary folder, unless ACKBOX_POSTGRES names the folder of a running one's socket.
"""

import argparse
import contextlib
import glob
import os
import random
import subprocess
import sys
import tempfile
import time

BIN = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]


class Server:
    """A PostgreSQL server with fsync, reached by a socket in its folder."""

    def __init__(self, stack):
        self.folder = os.environ.get("ACKBOX_POSTGRES")
        if self.folder is None:
            self.folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="ackbox-"))
            os.chmod(self.folder, 0o777)
            self._data = os.path.join(self.folder, "data")
            self._call("initdb", "-D", self._data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
            self._call("pg_ctl", "-D", self._data, "-w", "-l", os.path.join(self.folder, "log"), "-o",
                       "-c listen_addresses= -c unix_socket_directories=" + self.folder, "start")
            stack.callback(self._call, "pg_ctl", "-D", self._data, "-w", "-m", "immediate", "stop")

    def _call(self, program, *arguments):
        # The server refuses to run as root.
        prefix = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        subprocess.run([*prefix, os.path.join(BIN, program), *arguments], check=True, stdout=subprocess.DEVNULL, cwd="/")

    def run(self, sql, database="postgres"):
        return subprocess.run([os.path.join(BIN, "psql"), "-h", self.folder, "-U", "postgres", "-Atqc", sql, database], check=True,
                              stdout=subprocess.PIPE, text=True).stdout.strip()

    def database(self, name, stack):
        """The URL of a new one."""
        self.run("CREATE DATABASE " + name)
        stack.callback(self.run, "DROP DATABASE %s WITH (FORCE)" % name)
        return "postgres://postgres@/%s?host=%s" % (name, self.folder)


class Connections:
    """All of a database's, as a victim of the disturber."""

    def __init__(self, server, database):
        self._server = server
        self._database = database

    def end(self):
        self._server.run("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname='%s'" % self._database)

    def start(self):
        pass


def run(options, folder, stack):
    """What is wrong; empty: nothing."""
    for part in ("tests/clients", "clients/python"):
        sys.path.insert(0, os.path.join(options.source, part))
    import ackbox
    import kill_test
    import stage

    server = Server(stack)
    pair = stage.Pair(options.program, folder, outbox={"request_timeout": "1s", "ack_timeout": "1s"})
    names = ["%s_%d" % (daemon.name, os.getpid()) for daemon in pair.daemons]
    for daemon, name in zip(pair.daemons, names):
        daemon.file = server.database(name, stack)
    stack.enter_context(pair)
    script = os.path.join(options.source, "tests", "clients", "kill_application.py")
    environment = {**os.environ, "PYTHONPATH": os.path.join(options.source, "clients", "python")}
    applications = [kill_test.Application("at-" + daemon.name, folder, [sys.executable, script, daemon.url, None, "*"], environment)
                    for daemon in pair.daemons]
    for application in applications:
        application.start()
        stack.callback(application.close)
    clients = [ackbox.Client(daemon.url, retry_for=stage.PATIENCE_SECONDS) for daemon in pair.daemons]
    feeders = [kill_test.Feeder(clients[1], "alice", applications[0]), kill_test.Feeder(clients[0], "bob", applications[1])]
    for feeder in feeders:
        feeder.start()
    victims = {victim.name: victim for victim in applications + pair.daemons}
    victims.update(("connections of " + name, Connections(server, name)) for name in names)
    disturber = kill_test.Disturber(victims, random.Random(options.seed))
    disturber.run(options.kills, 0, lambda: any(feeder.error for feeder in feeders))
    last = time.monotonic()
    for feeder in feeders:
        feeder.stop()
    print(", ".join("%s %d" % entry for entry in sorted(disturber.done.items())))
    options.drained_within = float("inf")
    problems = kill_test.drain(options, pair, clients, feeders, last)
    for feeder in feeders:
        feeder.application.end()
        problems += feeder.judge()
    for client in clients:
        client.close()
    for daemon in pair.daemons:
        found = subprocess.run([options.program, "verify", daemon.file], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if found.returncode != 0:
            problems.append("verify of %s: %s" % (daemon.name, found.stdout))
    print("effects: %s; enqueues whose answer was lost: %d" % (
        ", ".join("%s %d" % (feeder.application.name, feeder.expected()) for feeder in feeders),
        sum(feeder.duplicates for feeder in feeders)))
    return problems


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("source")
    parser.add_argument("--kills", type=int, default=int(20 * float(os.environ.get("ACKBOX_TEST_SCALE", "1"))))
    parser.add_argument("--seed", type=int, default=int(os.environ.get("ACKBOX_TEST_SEED", time.time_ns() % 1000000)))
    options = parser.parse_args()
    print("seed %d, %d kills" % (options.seed, options.kills), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        with contextlib.ExitStack() as stack:
            problems = run(options, folder, stack)
        for problem in problems:
            print("FAILED: " + problem)
        for path in sorted(glob.glob(os.path.join(folder, "*.log"))) if problems else []:
            with open(path, errors="replace") as log:
                print("---- the end of %s\n%s" % (os.path.basename(path), log.read()[-3000:]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
