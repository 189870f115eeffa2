"""Goal: P3 P4 P5: `ackbox move` takes an outbox with rows of every kind from a file to a database, whole, whenever it and
its connections are ended; the file is refused from the mark on, and the peers notice nothing. The way back is as documented.

Method: the golden file of schema version 1, with rows of every kind, is moved, and what the tool shows of both is compared
line by line. A real `ackbox serve` delivers a half of its messages to another one, and is killed; its file is moved while
SIGKILL ends the tool, or the server its connection, at random instants, each time in a new database, until one whole move
has gone on after interruptions often enough. Then a daemon on the last database delivers the rest, and the receiver's
effects are compared with what was enqueued.

    move_test.py PROGRAM SOURCE_DIR [--kills N] [--seed N] [--messages N]
"""

import argparse
import contextlib
import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

import daemons_test

# What both show alike, each line: but for what is a file's alone.
SHOWN = [["list", "--limit", "0"], ["peers"], ["sessions", "--all", "--limit", "0"], ["blocked"], ["subscriptions"], ["inbox", "--limit", "0"],
         ["senders"], ["export"], ["stats"], ["list", "--state", "failed", "--limit", "0"]]
OF_FILES = {"file_bytes", "free_bytes"}


class Mover:
    def __init__(self, program):
        self.program = program

    def run(self, *arguments):
        return subprocess.run([self.program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def show(self, place):
        """What the tool shows of an outbox, as lines."""
        shown = []
        for command in SHOWN:
            result = self.run(command[0], place, *command[1:], "--json")
            if result.returncode not in (0, 1, 4):
                raise AssertionError("%s %s: %s" % (command[0], place, result.stderr))
            shown += [command[0] + " " + line for line in map(self._plain, result.stdout.splitlines())]
        for message in self._ids(shown):
            shown += ["show " + self._plain(self.run("show", place, message, "--json").stdout)]
        return shown

    @staticmethod
    def _ids(shown):
        return [json.loads(line[5:])["id"] for line in shown if line.startswith("list {") and "id" in json.loads(line[5:])]

    @staticmethod
    def _plain(line):
        fields = json.loads(line)
        return json.dumps({name: value for name, value in fields.items() if name not in OF_FILES}, sort_keys=True)


def differences(before, after):
    lost = [line for line in before if line not in set(after)]
    new = [line for line in after if line not in set(before)]
    return ["only before: " + line[:600] for line in lost[:8]] + ["only after: " + line[:600] for line in new[:8]]


def golden(options, folder):
    path = os.path.join(folder, "golden.db")
    with open(os.path.join(options.source, "tests/unit/manager/golden/schema_1.sql"), encoding="utf-8") as text:
        with contextlib.closing(sqlite3.connect(path)) as database:
            database.executescript("BEGIN;" + text.read() + "COMMIT;")
    return path


def check_golden(options, mover, server, folder, stack):
    """Rows of every kind; and what is refused."""
    problems = []
    file = golden(options, folder)
    # What its dead process had in flight is put back by the first opening.
    mover.run("resume", file, "bob")
    # A session's priority is that of its latest message.
    mover.run("enqueue", file, "--input", written(folder, {"peer": "bob", "session": "urgent", "type": "t", "data": {}, "priority": 8}))
    before = mover.show(file)
    url = server.database("golden_%d" % os.getpid(), stack)
    other = server.database("other_%d" % os.getpid(), stack)
    with contextlib.closing(sqlite3.connect(file)) as reader:
        reader.execute("SELECT count(*) FROM ackbox_outbox").fetchall()
        if mover.run("move", file, url).returncode != 1:
            problems.append("a file that a process has open is moved")
    copy = os.path.join(folder, "older.db")
    with open(file, "rb") as source, open(copy, "wb") as target:
        target.write(source.read())
    moved = mover.run("move", file, url, "--json")
    if moved.returncode != 0:
        return problems + ["move: " + moved.stderr]
    print("moved: " + moved.stdout.strip())
    problems += differences(before, mover.show(url))
    verified = mover.run("verify", url)
    if verified.returncode != 0:
        problems.append("verify: " + verified.stdout)
    for command in (["stats", file], ["enqueue", file], ["resume", file, "bob"], ["serve", file, "--listen", "127.0.0.1:1"],
                    ["move", file, other], ["move", copy, url], ["move", golden(options, tempfile.mkdtemp(dir=folder)), url]):
        result = mover.run(*command)
        if result.returncode != 3:
            problems.append("%s ends with %d: %s" % (" ".join(command), result.returncode, result.stdout))
        print("%s: %s" % (command[0], result.stderr.strip()))
    problems += check_numbers(options, mover, server, url)
    with contextlib.closing(sqlite3.connect(file)) as writer:
        try:
            writer.execute("INSERT INTO ackbox_outbox SELECT id+1000000,session_id,sequence+1000000,state,attempt,retry_count,"
                           "created_at_ms,due_at_ms,expires_at_ms,not_before_ms,'x',0,checksum,type,traceparent,correlation_id,"
                           "resent_of,supersede_key,reason,last_error,attempt_log,data FROM ackbox_outbox LIMIT 1")
            problems.append("a connection that was open stores a message in the file")
        except sqlite3.IntegrityError as error:
            print("insert: %s" % error)
    # As a process leaves it that is killed after the database's COMMIT; and then once more.
    with contextlib.closing(sqlite3.connect(file)) as database:
        database.execute("UPDATE ackbox_moved SET is_complete=0")
        database.commit()
    for _ in range(2):
        again = mover.run("move", file, url, "--json")
        if again.returncode != 0 or json.loads(again.stdout)["rows"] != 0 or not is_complete(file):
            problems.append("the same move, once more: %s%s" % (again.stdout, again.stderr))
    server.run("DROP SCHEMA ackbox CASCADE", place_of(url))
    if mover.run("move", file, url).returncode != 3:
        problems.append("what a database has lost is moved there again")
    return problems + check_way_back(options, mover, server, file, before, other)


def statements_of_the_way_back(options):
    """As the documentation says them: those in the database, those in the file, and the one that says whether they may be run."""
    with open(os.path.join(options.source, "docs", "postgres.md"), encoding="utf-8") as text:
        told = text.read().partition("**To go back**")[2].partition("\n- ")[0].partition("\n\n")[0]
    found = re.findall(r"`((?:DROP [^;`]*;?\s*)+)`", told)
    question = re.findall(r"`(SELECT [^`]*)`", told)
    if len(found) != 2 or len(question) != 1:
        raise AssertionError("docs/postgres.md has no way back: " + told)
    return [*found, *question]


def check_way_back(options, mover, server, file, before, url):
    """What the documentation says of the way back is true: after a whole move, and after one that its database did not outlive."""
    problems = []
    in_database, in_file, unopened = statements_of_the_way_back(options)
    for is_complete in (1, 0):
        with contextlib.closing(sqlite3.connect(file)) as database:
            database.execute("UPDATE ackbox_moved SET is_complete=%d" % is_complete)
            database.executescript(in_file)
        problems += ["after the way back: " + line for line in differences(before, mover.show(file))]
        for command in (["verify", file], ["resume", file, "bob"]):
            result = mover.run(*command)
            if result.returncode != 0:
                problems.append("after the way back, %s ends with %d: %s" % (command[0], result.returncode, result.stderr))
        moved = mover.run("move", file, url)
        if moved.returncode != 0:
            problems.append("after the way back, move: " + moved.stderr)
        problems += ["after the second move: " + line for line in differences(before, mover.show(url))]
        answers = [server.run(unopened, place_of(url))]
        mover.run("resume", url, "bob")
        answers.append(server.run(unopened, place_of(url)))
        if answers != ["t", "f"]:
            problems.append("whether the database was opened: %s" % answers)
        server.run(in_database, place_of(url))
    return problems


def written(folder, line):
    path = os.path.join(folder, "line.jsonl")
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
    return path


def place_of(url):
    return url.partition("?")[0].rpartition("/")[2]


def is_complete(file):
    with contextlib.closing(sqlite3.connect(file)) as database:
        return database.execute("SELECT is_complete FROM ackbox_moved").fetchall() == [(1,)]


def check_numbers(options, mover, server, url):
    """What comes later goes on behind what was moved: keys, numbers, and what an idempotency key was given for."""
    problems = []
    place = place_of(url)
    for arguments, wanted in [
            ("'bob','orders','test.event','{\"id\":\"full-4\"}',idempotency_key=>'key-4'", "duplicate|f"),
            ("'bob','orders','test.event','{}',idempotency_key=>'key-4'", "duplicate|t"),
            ("'bob','new-session','test.event','{}'", "stored|f")]:
        found = server.run("SELECT status,is_conflict FROM ackbox.enqueue(%s)" % arguments, place)
        if found != wanted:
            problems.append("ackbox.enqueue(%s): %s" % (arguments, found))
    for command in (["add-peer", url, "newcomer", '{"url":"http://127.0.0.1:1/inbox"}'], ["subscribe", url, "new", "bob"]):
        result = mover.run(*command)
        if result.returncode != 0:
            problems.append("%s: %s" % (command[0], result.stderr))
    # The inbox's numbers, and those of the sessions of others.
    for table in ("inbox", "inbound_sessions", "peers", "sessions"):
        last = server.run("SELECT (SELECT max(id) FROM ackbox.%s)<nextval(pg_get_serial_sequence('ackbox.%s','id'))" % (table, table),
                          place)
        if last != "t":
            problems.append("the numbers of %s begin anew" % table)
    return problems


def copied(file, to):
    """The file as it was: a move begins anew with it."""
    with contextlib.closing(sqlite3.connect(file)) as source, contextlib.closing(sqlite3.connect(to)) as target:
        source.backup(target)
    return to


def check_kills(options, mover, server, file, folder, stack):
    """Moves copies of the file until that was interrupted often enough; the last database, and what is wrong."""
    chance = random.Random(options.seed)
    before = mover.show(file)
    kills, rounds, problems, took = 0, 0, [], 0.3
    while not problems:
        rounds += 1
        name = "moved_%d_%d" % (os.getpid(), rounds)
        place = copied(file, os.path.join(folder, "round.db"))
        with contextlib.ExitStack() as of_round:
            url = server.database(name, of_round)
            while True:
                begun = time.monotonic()
                process = subprocess.Popen([options.program, "move", place, url], stdout=subprocess.DEVNULL,
                                           stderr=subprocess.PIPE, text=True)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(chance.uniform(0, 1.1 * took))
                wanted = -signal.SIGKILL
                if process.poll() is None and chance.random() < 0.3:
                    daemons_test.Connections(server, name).end()
                    wanted = 3
                elif process.poll() is None:
                    process.send_signal(signal.SIGKILL)
                error = process.communicate()[1]
                if process.returncode == 0:
                    took = max(0.05, 0.7 * took + 0.3 * (time.monotonic() - begun))
                    break
                kills += 1
                if process.returncode != wanted:
                    problems.append("move ends with %d: %s" % (process.returncode, error))
                    break
            problems += differences(before, mover.show(url)) if rounds % 10 == 1 or kills >= options.kills else []
            if mover.run("verify", url).returncode != 0:
                problems.append("verify finds problems in round %d" % rounds)
            if kills >= options.kills:
                stack.push(of_round.pop_all())
                print("%d moves, interrupted %d times" % (rounds, kills))
                return url, problems
        for end in ("", "-wal", "-shm", "-ackbox-owners"):
            with contextlib.suppress(FileNotFoundError):
                os.remove(place + end)
    return None, problems


def run(options, folder, stack):
    """What is wrong; empty: nothing."""
    for part in ("tests/clients", "clients/python"):
        sys.path.insert(0, os.path.join(options.source, part))
    import ackbox
    import kill_test
    import stage

    server = daemons_test.Server(stack)
    mover = Mover(options.program)
    problems = check_golden(options, mover, server, folder, stack)
    if problems:
        return problems
    pair = stage.Pair(options.program, folder, outbox={"request_timeout": "1s", "ack_timeout": "1s"})
    stack.callback(pair.__exit__)
    alice, bob = pair.daemons
    for daemon in pair.daemons:
        daemon.start()
    script = os.path.join(options.source, "tests", "clients", "kill_application.py")
    environment = {**os.environ, "PYTHONPATH": os.path.join(options.source, "clients", "python")}
    application = kill_test.Application("at-bob", folder, [sys.executable, script, bob.url, None, "*"], environment)
    application.start()
    stack.callback(application.close)
    with ackbox.Client(alice.url, retry_for=stage.PATIENCE_SECONDS) as client:
        feeder = kill_test.Feeder(client, "bob", application)
        for _ in range(options.messages // 8):
            for session in feeder.counts:
                feeder.feed(session)
        stage.wait_until(lambda: application.effect_count() > 0, "some take effect")
        bob.end()
        for _ in range(options.messages // 8):
            for session in feeder.counts:
                feeder.feed(session)
    alice.end()
    print("%d messages, %d took effect before" % (feeder.expected(), application.effect_count()))
    # A first opening puts back what alice had in flight.
    mover.run("resume", alice.file, "bob")
    url, problems = check_kills(options, mover, server, alice.file, folder, stack)
    if problems:
        return problems
    alice.file = url
    for daemon in pair.daemons:
        daemon.start()
    with ackbox.Client(alice.url, retry_for=stage.PATIENCE_SECONDS) as client, ackbox.Client(bob.url) as other:
        feeder._client = client
        problems += kill_test.drain(options, pair, [client, other], [feeder], time.monotonic())
    application.end()
    problems += feeder.judge()
    if mover.run("verify", url).returncode != 0:
        problems.append("verify finds problems in the database")
    return problems


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("source")
    parser.add_argument("--kills", type=int, default=int(20 * float(os.environ.get("ACKBOX_TEST_SCALE", "1"))))
    parser.add_argument("--messages", type=int, default=400)
    parser.add_argument("--seed", type=int, default=int(os.environ.get("ACKBOX_TEST_SEED", time.time_ns() % 1000000)))
    options = parser.parse_args()
    options.drained_within = float("inf")
    print("seed %d, %d kills" % (options.seed, options.kills), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        with contextlib.ExitStack() as stack:
            problems = run(options, folder, stack)
        for problem in problems:
            print("FAILED: " + problem)
        for name in ("alice", "bob") if problems else ():
            path = os.path.join(folder, name + ".log")
            if os.path.exists(path):
                with open(path, errors="replace") as log:
                    print("---- the end of %s\n%s" % (name, log.read()[-2000:]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
