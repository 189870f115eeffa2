"""Goal: what is promised holds for applications in Python, TypeScript, Go and C++ whose processes, and whose daemons,
SIGKILL ends or SIGSTOP holds at any instant: each message that was enqueued takes effect once, in its session's order.

Method: two real `ackbox serve` send to each other. A Python application takes alice's messages at bob from a stream, as
does one in Go where Go is installed, and another one in Python takes those for an agent that has a mailbox at bob, a TypeScript one bob's at alice, and to a C++ one bob posts others of alice's; each
writes a row and the mark in one transaction. Threads enqueue through the Python client on both sides, while a seeded loop
kills one of the six processes after the other and starts it again, or stops it: for less than half a second, for longer than a request may take, or,
one in twenty, for longer than the Python client waits for a sign of life. Two stand still at a time, others are killed
meanwhile. In the end the tables of effects are compared with what was enqueued, no outbox and no inbox may have anything
left, and one more message to each application must still be acknowledged.

    kill_test.py PROGRAM SOURCE_DIR CPP_APPLICATION
                 [--kills N] [--pauses N] [--drained-within SECONDS] [--seed N] [--careless]

It prints how long after the last kill or pause nothing is left; --drained-within makes more than that a failure. With
--careless the applications, which alone are disturbed then, apply without marks; it ends once the comparison has found a
repetition at each of them, and fails if it does not. The default is 20 kills and 10 pauses, times ACKBOX_TEST_SCALE; the
long form is --kills 500 --pauses 200 --drained-within 5.
"""

import argparse
import collections
import contextlib
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

import go_programs
import stage

# What a request between the daemons may take, and a post to an application.
REQUEST_SECONDS = 1
SHORT, MIDDLE, LONG = (0.02, 0.5), (REQUEST_SECONDS + 0.2, REQUEST_SECONDS + 2), (31, 35)
NAMES = ["python", "typescript", "cpp", "go", "sleeper"]
# The agent behind bob that only dials out: what alice sends it waits in its mailbox at bob.
SLEEPER = "urn:agent:sleeper"
# So many stand still at a time.
STOPPED_MOST = 2
# So many messages may wait for an application: what is measured is the way back from a kill, not the way through a heap.
WAITING_MOST = 64


class Application:
    """A process that receives, and the ledger that it writes."""

    def __init__(self, name, folder, command, environment=None):
        """In `command`, None stands for the file of the ledger."""
        self.name = name
        self._file = os.path.join(folder, name + "_effects.db")
        self._command = [self._file if argument is None else argument for argument in command]
        self._log = os.path.join(folder, name + ".log")
        self._environment = environment
        self._process = None

    def start(self):
        with open(self._log, "ab") as log:
            self._process = subprocess.Popen(self._command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                             env=self._environment, start_new_session=True)

    def send(self, number):
        """To its children as well: the TypeScript application's database is one."""
        os.killpg(self._process.pid, number)

    def end(self):
        ended = self._process.poll()
        self.close()
        if ended is not None:
            raise AssertionError("the application ended by itself, see %s:\n%s" % (self._log, open(self._log).read()))

    def close(self):
        if self._process.returncode is None:
            self.send(signal.SIGKILL)
            self._process.wait()

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
    """Enqueues for `application` to `peer`, one message after the other, until it is stopped."""

    def __init__(self, client, peer, application):
        super().__init__(daemon=True)
        self._client = client
        self._peer = peer
        self.application = application
        self._stopped = threading.Event()
        self.counts = dict.fromkeys(["", application.name + "-a", application.name + "-b", application.name + "-c"], 0)
        self.duplicates = 0
        self.error = None

    def run(self):
        try:
            while not self._stopped.wait(0.002):
                while self.expected() - self.application.effect_count() > WAITING_MOST:
                    if self._stopped.wait(0.05):
                        return
                for session in self.counts:
                    self.duplicates += self.feed(session).status == "duplicate"
        except BaseException as error:
            self.error = error

    def feed(self, session):
        n = self.counts[session] + 1
        result = self._client.enqueue(self._peer, "for." + self.application.name, {"n": n}, session=session)
        if session and result.sequence not in (0, n):
            raise AssertionError("message %d of session %s has number %d" % (n, session, result.sequence))
        self.counts[session] = n
        return result

    def stop(self):
        self._stopped.set()
        self.join(stage.PATIENCE_SECONDS)
        if self.error is not None:
            raise self.error

    def state_of_another(self):
        """What becomes of one more message."""
        return self._client.message(self.feed(max(self.counts)).id, wait=stage.PATIENCE_SECONDS)["state"]

    def expected(self):
        return sum(self.counts.values())

    def judge(self):
        """What is wrong with the effects; empty: nothing."""
        problems = []
        by_session = collections.defaultdict(list)
        for session, n in self.application.effects():
            by_session[session].append(n)
        for session, count in self.counts.items():
            found, wanted = by_session.pop(session, []), list(range(1, count + 1))
            if (found if session else sorted(found)) == wanted:
                continue
            lost = set(wanted) - set(found)
            twice = [n for n, count in collections.Counter(found).items() if count > 1]
            problems.append("%s, session '%s': %d of %d effects; lost %s; more than once %s%s" % (
                self.application.name, session, len(found), len(wanted), sorted(lost)[:5], twice[:5],
                "" if lost or twice else "; out of order"))
        if by_session:
            problems.append("%s: effects of unknown sessions %s" % (self.application.name, list(by_session)))
        return problems

    def has_found_repetition(self):
        return any("more than once [" in problem and "more than once []" not in problem for problem in self.judge())


class Disturber:
    """Kills and stops `victims`, by name, one after the other."""

    def __init__(self, victims, chance):
        self._victims = victims
        self._chance = chance
        self._stopped_until = {}
        self.done = collections.Counter()

    def run(self, kills, pauses, is_enough):
        steps = [None] * kills + [self._chance.choice([SHORT, MIDDLE]) for _ in range(pauses - pauses // 20)]
        self._chance.shuffle(steps)
        for _ in range(pauses // 20):
            # Not at the end: a peer that was away for so long is asked again after half a minute.
            steps.insert(self._chance.randrange(len(steps) * 3 // 4 + 1), LONG)
        for pause in steps:
            self._wait(self._chance.uniform(0.02, 0.5))
            while pause and len(self._stopped_until) == STOPPED_MOST:
                self._wait(0.05)
            name = self._chance.choice(sorted(set(self._victims) - set(self._stopped_until)))
            if pause:
                self._victims[name].send(signal.SIGSTOP)
                self._stopped_until[name] = time.monotonic() + self._chance.uniform(*pause)
            else:
                self._victims[name].end()
                self._victims[name].start()
            self.done[("stopped " if pause else "killed ") + name] += 1
            if is_enough():
                break
        while self._stopped_until:
            self._wait(0.05)

    def _wait(self, seconds):
        time.sleep(seconds)
        for name, until in list(self._stopped_until.items()):
            if until <= time.monotonic():
                self._victims[name].send(signal.SIGCONT)
                del self._stopped_until[name]


def start_applications(options, folder, pair, port, stack):
    tests = os.path.join(options.source, "tests", "clients")
    subprocess.run([os.path.join(tests, "install_typescript"), options.source, folder], check=True)
    for name in ("kill_application.mjs", "sqlite_bridge.mjs"):
        shutil.copy(os.path.join(tests, name), folder)
    careless = ["careless"] if options.careless else []
    environment = {**os.environ, "PYTHONPATH": os.path.join(options.source, "clients", "python")}
    script = os.path.join(tests, "kill_application.py")
    applications = [
        Application("python", folder, [sys.executable, script, pair.bob.url, None, "for.python"] + careless,
                    environment),
        Application("sleeper", folder, [sys.executable, script, pair.bob.url, None, "*"] + careless + ["mailbox=" + SLEEPER],
                    environment),
        Application("typescript", folder,
                    ["node", os.path.join(folder, "kill_application.mjs"), pair.alice.url, None] + careless),
        Application("cpp", folder, [options.application, str(port), None] + careless),
    ]
    program = go_programs.build("kill_application", options.source, folder)
    if program is None:
        print(go_programs.LEFT_OUT)
    else:
        applications.append(Application("go", folder, [program, pair.bob.url, None] + careless))
    for application in applications:
        application.start()
        stack.callback(application.close)
    return applications


def is_drained(clients, feeders):
    """Whether every message has taken effect, and both daemons know it."""
    if any(feeder.application.effect_count() < feeder.expected() for feeder in feeders):
        return False
    stats = [client.stats() for client in clients]
    return not any(stat[what] for stat in stats for what in ("pending", "sending", "sent", "inbox"))


def drain(options, pair, clients, feeders, since):
    """Waits until nothing is left, and sends one more message to each application; returns what is wrong."""
    problems = []
    try:
        stage.wait_until(lambda: is_drained(clients, feeders), "every message takes effect and is acknowledged")
        seconds = time.monotonic() - since
        print("drained %.1f s after the last kill or pause" % seconds)
        if seconds > options.drained_within:
            problems.append("that is more than %g s" % options.drained_within)
        for feeder in feeders:
            state = feeder.state_of_another()
            if state != "acked":
                problems.append("another message for %s is %s" % (feeder.application.name, state))
    except AssertionError as error:
        problems.append(str(error))
        for daemon in pair.daemons:
            command = [options.program, "inbox", daemon.file, "--json"]
            waiting = subprocess.run(command, stdout=subprocess.PIPE, text=True).stdout
            problems.append("the inbox of %s has\n%s" % (daemon.name, waiting[:2000]))
    return problems


def run(options, folder, stack):
    """What is wrong; empty: nothing."""
    sys.path.insert(0, os.path.join(options.source, "clients", "python"))
    import ackbox

    port = stage.free_port()
    inbox = {"pull": ["for.python", "for.go"], "mailboxes": [SLEEPER], "deliver": [{
        "types": "for.cpp", "url": "http://127.0.0.1:%d/" % port, "timeout": "%ds" % REQUEST_SECONDS}]}
    pair = stack.enter_context(stage.Pair(options.program, folder, inbox={"bob": inbox}, mailbox=SLEEPER,
                                          outbox={"request_timeout": "%ds" % REQUEST_SECONDS, "ack_timeout": "1s"}))
    applications = start_applications(options, folder, pair, port, stack)
    clients = [ackbox.Client(daemon.url, retry_for=stage.PATIENCE_SECONDS) for daemon in pair.daemons]
    feeders = [Feeder(clients[1], "alice", application) if application.name == "typescript" else
               Feeder(clients[0], "sleeper" if application.name == "sleeper" else "bob", application)
               for application in applications]
    for feeder in feeders:
        feeder.start()
    victims = {victim.name: victim for victim in (applications if options.careless else applications + pair.daemons)}
    disturber = Disturber(victims, random.Random(options.seed))
    disturber.run(options.kills, options.pauses, lambda: any(feeder.error for feeder in feeders) or (
        options.careless and all(feeder.has_found_repetition() for feeder in feeders)))
    last = time.monotonic()
    for feeder in feeders:
        feeder.stop()
    print(", ".join("%s %d" % entry for entry in sorted(disturber.done.items())))
    if options.careless:
        return [feeder.application.name + " is careless, and was not found" for feeder in feeders
                if not feeder.has_found_repetition()]
    problems = drain(options, pair, clients, feeders, last)
    for feeder in feeders:
        feeder.application.end()
        problems += feeder.judge()
    for client in clients:
        client.close()
    print("effects: %s; enqueues whose answer was lost: %d" % (
        ", ".join("%s %d" % (feeder.application.name, feeder.expected()) for feeder in feeders),
        sum(feeder.duplicates for feeder in feeders)))
    return problems


def main():
    parser = argparse.ArgumentParser()
    scale = float(os.environ.get("ACKBOX_TEST_SCALE", "1"))
    parser.add_argument("program")
    parser.add_argument("source")
    parser.add_argument("application")
    parser.add_argument("--kills", type=int, default=int(20 * scale))
    parser.add_argument("--pauses", type=int, default=int(10 * scale))
    parser.add_argument("--drained-within", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=int(os.environ.get("ACKBOX_TEST_SEED", time.time_ns() % 1000000)))
    parser.add_argument("--careless", action="store_true")
    options = parser.parse_args()
    print("seed %d, %d kills, %d pauses" % (options.seed, options.kills, options.pauses), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        with contextlib.ExitStack() as stack:
            problems = run(options, folder, stack)
        for problem in problems:
            print("FAILED: " + problem)
        logs = [os.path.join(folder, name + ".log") for name in NAMES + ["alice", "bob"]]
        for path in filter(os.path.exists, logs if problems else []):
            name = os.path.basename(path)
            with open(path, errors="replace") as log:
                print("---- the end of %s\n%s" % (name, log.read()[-3000:]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
