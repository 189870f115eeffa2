"""Goal: an application that enqueues in the transaction of its rows and is killed at any instant leaves a message for each
row and a row for each message, in the order of each session, while an agent delivers from the same file.

Method: an agent runs. An application of several sessions writes a row and enqueues a message about it, by the extension,
in transactions of one to four; some it rolls back, in some a message is refused. It is killed with SIGKILL after a random
time and started again. In the end the rows are compared with the messages, which the agent keeps for a while after their
acknowledgement: each row's own number and id, and the numbers of each session without a gap.

    kill_test.py PROGRAM EXTENSION SOURCE_DIR [--kills N] [--seed N] [--careless]

The default is 30 kills times ACKBOX_TEST_SCALE. With --careless the application enqueues in a transaction of its own,
as a program would that has no extension: then the comparison must find a difference, and the test fails if it does not.
"""

import argparse
import collections
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

from host import EXTENSION, PROGRAM, SOURCE, connect, enqueue, stage

LONGEST_LIFE_SECONDS = 0.12


def application(file, seed, is_careless):
    """Works until it is killed."""
    db = connect(file)
    chance = random.Random(seed)
    print("begun", flush=True)
    while True:
        db.execute("BEGIN IMMEDIATE")
        for _ in range(chance.randint(1, 4)):
            session = "s%d" % chance.randrange(5)
            frame = {"peer": "bob", "session": session, "type": "t", "data": {"n": chance.randrange(10**9)}}
            receipt = enqueue(db, frame)
            if is_careless:
                db.execute("COMMIT")
                db.execute("BEGIN IMMEDIATE")
            db.execute("INSERT INTO rows(session,n,message_id,sequence) VALUES(?,?,?,?)",
                       (session, frame["data"]["n"], receipt["message_id"], receipt["sequence"]))
            if chance.random() < 0.1:
                try:
                    enqueue(db, {**frame, "peer": "nobody"})
                    raise AssertionError("a message to nobody was taken")
                except sqlite3.OperationalError:
                    pass
        db.execute("ROLLBACK" if chance.random() < 0.2 else "COMMIT")


def run_and_kill(file, seed, chance, is_careless):
    command = [sys.executable, __file__, PROGRAM, EXTENSION, SOURCE, "--application", file, "--seed", str(seed)]
    child = subprocess.Popen(command + ["--careless"] * is_careless, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    begun = child.stdout.readline()
    time.sleep(chance.uniform(0, LONGEST_LIFE_SECONDS))
    child.send_signal(signal.SIGKILL)
    child.stdout.close()
    if begun != b"begun\n" or child.wait() != -signal.SIGKILL:
        raise AssertionError("the application ended by itself")


def differences(file):
    """What rows and messages differ in, and how many messages there are of each state."""
    db = connect(file)
    rows = db.execute("SELECT session,n,message_id,sequence FROM rows ORDER BY id").fetchall()
    messages = db.execute("SELECT session,json_extract(data,'$.n'),message_id,sequence,state FROM ackbox_messages "
                          "ORDER BY row_id").fetchall()
    found = []
    if rows != [message[:4] for message in messages]:
        found.append("%d rows and %d messages; not the same: %s"
                     % (len(rows), len(messages), sorted(set(rows) ^ {message[:4] for message in messages})[:10]))
    numbers = collections.defaultdict(list)
    for session, _, _, sequence, _ in messages:
        numbers[session].append(sequence)
    found += ["session %s has the numbers %s" % (session, given) for session, given in numbers.items()
              if given != list(range(1, len(given) + 1))]
    if subprocess.run([PROGRAM, "verify", file], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0:
        found.append("verify finds a fault")
    states = collections.Counter(message[4] for message in messages)
    db.close()
    return found, states


def main():
    scale = float(os.environ.get("ACKBOX_TEST_SCALE", "1"))
    parser = argparse.ArgumentParser()
    parser.add_argument("programs", nargs=3)
    parser.add_argument("--kills", type=int, default=int(30 * scale))
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--careless", action="store_true")
    parser.add_argument("--application")
    options = parser.parse_args()
    if options.application:
        application(options.application, options.seed, options.careless)
    print("seed", options.seed, flush=True)
    chance = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as folder, stage.Pair(PROGRAM, folder) as pair:
        file = pair.alice.file
        db = connect(file)
        db.execute("CREATE TABLE rows(id INTEGER PRIMARY KEY AUTOINCREMENT,session,n,message_id,sequence)")
        db.close()
        for kill in range(options.kills):
            run_and_kill(file, options.seed + kill, chance, options.careless)
        found, states = differences(file)
    print("%d kills: %s" % (options.kills, json.dumps(states)))
    if options.careless:
        if not found:
            raise SystemExit("a careless application was not found")
        print("found: " + found[0])
    elif found:
        raise SystemExit("\n".join(found))
    elif not states["SENT"]:
        raise SystemExit("the agent delivered nothing")


if __name__ == "__main__":
    main()
