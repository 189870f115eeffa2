"""Goal: what is promised holds for applications in three languages whose processes, and whose daemons, SIGKILL ends or
SIGSTOP halts at any instant: each message that was enqueued takes effect once, in its session's order.

Method: two real `ackbox serve` send to each other. A Python application has a stream at bob, a TypeScript one has a stream
at alice, and bob posts to one in C++; each writes a row and the mark in one transaction. Threads enqueue through the
Python client on both sides, while a seeded loop kills one of the five processes and starts it again, or halts one for up
to PAUSE seconds. In the end the tables of effects are compared with what was enqueued, and one more message must still be
acknowledged. The time from the last kill to the last effect is printed.

    kill_test.py PROGRAM SOURCE_DIR CPP_APPLICATION [--kills N] [--pauses N] [--pause SECONDS] [--seed N] [--careless]

With --careless the applications apply without marks, and it passes when that is found for each. The default is 20 kills
and 4 pauses times ACKBOX_TEST_SCALE; the long form is --kills 500 --pauses 200 --pause 5.
"""

import argparse
import collections
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

import stage

SESSIONS = ["", "a", "b", "c"]


class Application:
    """A process that receives, and the ledger that it writes."""

    def __init__(self, command, file, log, environment=None):
        self._command = command
        self._file = file
        self._log = log
        self._environment = environment
        self._process = None

    def start(self):
        with open(self._log, "ab") as log:
            self._process = subprocess.Popen(self._command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                             env=self._environment)

    def end(self):
        ended = self._process.poll()
        self._process.kill()
        self._process.wait()
        if ended is not None:
            raise AssertionError("the application ended by itself, see %s:\n%s" % (self._log, open(self._log).read()))

    def pause(self, seconds):
        self._process.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        self._process.send_signal(signal.SIGCONT)

    def effects(self):
        return self._query("SELECT session, n FROM effects ORDER BY rowid")

    def effect_count(self):
        # Little, as it is asked often: a test that reads all the time holds the application up.
        return sum(row[0] for row in self._query("SELECT max(rowid) FROM effects") if row[0])

    def _query(self, sql):
        if not os.path.exists(self._file):
            return []
        db = sqlite3.connect(self._file, timeout=30)
        try:
            return db.execute(sql).fetchall()
        except sqlite3.OperationalError:
            return []  # The application has not made its tables yet.
        finally:
            db.close()


class Feeder(threading.Thread):
    """Enqueues to `peer`, one message after the other, until it is stopped. While the application is behind by more than
    `BACKLOG`, it waits, so that a long run drains in the end as fast as a short one."""

    BACKLOG = 100

    def __init__(self, client, peer, message_type, application, prefix=""):
        super().__init__(daemon=True)
        self.sessions = [session and prefix + session for session in SESSIONS]
        self._client = client
        self._peer = peer
        self._type = message_type
        self._application = application
        self._stopped = threading.Event()
        self.counts = collections.Counter()
        self.duplicates = 0
        self.error = None

    def run(self):
        try:
            while not self._stopped.wait(0.002):
                if self.expected() - self._application.effect_count() > self.BACKLOG:
                    continue
                for session in self.sessions:
                    n = self.counts[session] + 1
                    result = self._client.enqueue(self._peer, self._type, {"n": n}, session=session)
                    if session and result.sequence not in (0, n):
                        raise AssertionError("message %d of session %s has number %d" % (n, session, result.sequence))
                    self.counts[session] = n
                    self.duplicates += result.status == "duplicate"
        except BaseException as error:
            self.error = error

    def stop(self):
        self._stopped.set()
        self.join(stage.PATIENCE_SECONDS)
        if self.error is not None:
            raise self.error

    def expected(self):
        return sum(self.counts.values())


def judge(name, feeder, effects):
    """What is wrong with the effects; empty: nothing."""
    problems = []
    by_session = collections.defaultdict(list)
    for session, n in effects:
        by_session[session].append(n)
    for session in feeder.sessions:
        found, wanted = by_session.pop(session, []), list(range(1, feeder.counts[session] + 1))
        if (found if session else sorted(found)) == wanted:
            continue
        lost = set(wanted) - set(found)
        twice = [n for n, count in collections.Counter(found).items() if count > 1]
        problems.append("%s, session '%s': %d of %d effects; lost %s; more than once %s%s" % (
            name, session, len(found), len(wanted), sorted(lost)[:5], twice[:5],
            "" if lost or twice else "; out of order"))
    if by_session:
        problems.append("%s: effects of unknown sessions %s" % (name, list(by_session)))
    return problems


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("source")
    parser.add_argument("cpp_application")
    scale = float(os.environ.get("ACKBOX_TEST_SCALE", "1"))
    parser.add_argument("--kills", type=int, default=int(20 * scale))
    parser.add_argument("--pauses", type=int, default=int(4 * scale))
    parser.add_argument("--pause", type=float, default=0.5)
    parser.add_argument("--seed", type=int, default=int(os.environ.get("ACKBOX_TEST_SEED", time.time_ns() % 1000000)))
    parser.add_argument("--careless", action="store_true")
    options = parser.parse_args()
    careless = ["careless"] if options.careless else []
    pauses = 0 if options.careless else options.pauses
    print("seed %d, %d kills, %d pauses" % (options.seed, options.kills, pauses), flush=True)
    chance = random.Random(options.seed)
    tests = os.path.join(options.source, "tests", "clients")
    python_client = os.path.join(options.source, "clients", "python")
    sys.path.insert(0, python_client)
    import ackbox

    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([os.path.join(tests, "install_typescript"), options.source, folder], check=True)
        for name in ("kill_application.mjs", "sqlite_bridge.mjs"):
            with open(os.path.join(tests, name), "rb") as source, open(os.path.join(folder, name), "wb") as target:
                target.write(source.read())
        port = stage.free_port()
        inbox = {"bob": {"pull": ["fed", "last"], "deliver": [{"types": "pushed", "url": "http://127.0.0.1:%d/" % port}]}}
        with stage.Pair(options.program, folder, inbox=inbox) as pair:
            file = os.path.join(folder, "python_effects.db")
            python = Application(
                [sys.executable, os.path.join(tests, "kill_application.py"), pair.bob.url, file] + careless, file,
                os.path.join(folder, "python.log"), {**os.environ, "PYTHONPATH": python_client})
            file = os.path.join(folder, "typescript_effects.db")
            typescript = Application(
                ["node", os.path.join(folder, "kill_application.mjs"), pair.alice.url, file] + careless, file,
                os.path.join(folder, "typescript.log"))
            file = os.path.join(folder, "cpp_effects.db")
            cpp = Application([options.cpp_application, str(port), file] + careless, file, os.path.join(folder, "cpp.log"))
            names, applications = ["python", "typescript", "cpp"], [python, typescript, cpp]
            for application in applications:
                application.start()
            clients = [ackbox.Client(daemon.url, retry_for=stage.PATIENCE_SECONDS) for daemon in pair.daemons]
            clients.append(ackbox.Client(pair.alice.url, retry_for=stage.PATIENCE_SECONDS))
            feeders = [Feeder(clients[0], "bob", "fed", python), Feeder(clients[1], "alice", "fed", typescript),
                       Feeder(clients[2], "bob", "pushed", cpp, "pushed-")]
            for feeder in feeders:
                feeder.start()
            victims = {"alice": pair.alice, "bob": pair.bob, **dict(zip(names, applications))}
            kills = collections.Counter()
            hardships = ["kill"] * options.kills + ["pause"] * pauses
            chance.shuffle(hardships)
            for count, hardship in enumerate(hardships):
                time.sleep(chance.uniform(0.02, 0.5))
                name = chance.choice(names if careless else sorted(victims))
                if hardship == "pause":
                    victims[name].pause(chance.uniform(0.02, options.pause))
                else:
                    victims[name].end()
                    victims[name].start()
                kills[name] += 1
                if count % 100 == 99:
                    print("%d of %d" % (count + 1, len(hardships)), flush=True)
                if any(feeder.error for feeder in feeders):
                    break
            for feeder in feeders:
                feeder.stop()
            ended = time.monotonic()
            pairs = list(zip(names, feeders, applications))
            problems = []
            try:
                stage.wait_until(
                    lambda: all(application.effect_count() >= feeder.expected() for _, feeder, application in pairs),
                    "every message takes effect")
                print("drained %.1f s after the last of them" % (time.monotonic() - ended), flush=True)
                sent = clients[0].enqueue("bob", "last", {"n": feeders[0].counts["a"] + 1}, session="a")
                feeders[0].counts["a"] += 1
                state = clients[0].message(sent.id, wait=stage.PATIENCE_SECONDS)["state"]
                if state != "acked":
                    problems.append("the last message is " + state)
            except AssertionError as error:
                problems.append(str(error))
                for daemon in pair.daemons:
                    command = [options.program, "inbox", daemon.file, "--json"]
                    waiting = subprocess.run(command, stdout=subprocess.PIPE, text=True).stdout
                    problems.append("the inbox of %s has\n%s" % (daemon.name, waiting[:2000]))
            for application in applications:
                application.end()
            for name, feeder, application in pairs:
                problems += judge(name, feeder, application.effects())
            for client in clients:
                client.close()
            print("kills and pauses: %s; effects: %s; enqueues whose answer was lost: %d" % (
                ", ".join("%s %d" % entry for entry in sorted(kills.items())),
                ", ".join("%s %d" % (name, feeder.expected()) for name, feeder, _ in pairs),
                sum(feeder.duplicates for feeder in feeders)))
            if careless:
                found = {name: problem for name in names for problem in problems
                         if problem.startswith(name) and "once [" in problem and "once []" not in problem}
                for problem in found.values():
                    print("found: " + problem)
                for name in names:
                    if name not in found:
                        print("FAILED: the careless application %s was not found" % name)
                return 0 if len(found) == len(names) else 1
            if problems:
                for problem in problems:
                    print("FAILED: " + problem)
                for name in ("python.log", "typescript.log", "cpp.log", "alice.log", "bob.log"):
                    with open(os.path.join(folder, name), errors="replace") as log:
                        print("---- the end of %s\n%s" % (name, log.read()[-3000:]))
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
