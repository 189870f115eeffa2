"""What the tests of the extension share: an outbox that an agent has made, and connections with the extension."""

import json
import os
import sqlite3
import subprocess
import sys

PROGRAM, EXTENSION, SOURCE = sys.argv[1:4]
sys.path[:0] = [os.path.join(SOURCE, "tests", "clients"), os.path.join(SOURCE, "clients", "python")]
os.environ["ACKBOX_EXTENSION"] = EXTENSION

import ackbox  # noqa: E402
import stage  # noqa: E402


def make_outbox(folder):
    """The file of an agent that has the peer bob, and does not run."""
    with stage.Pair(PROGRAM, folder) as pair:
        file = pair.alice.file
        pair.alice.end(15)
    return file


def connect(file, **options):
    db = sqlite3.connect(file, isolation_level=None, timeout=30, **options)
    ackbox.load(db)
    return db


def value(db, sql, *parameters):
    return db.execute(sql, parameters).fetchone()[0]


def enqueue(db, frame):
    return json.loads(value(db, "SELECT ackbox_enqueue(?)", json.dumps(frame)))


def tool(*arguments, lines=""):
    """What the tool prints: of each line its JSON."""
    done = subprocess.run([PROGRAM, *arguments, "--json"], input=lines, capture_output=True, text=True, timeout=120)
    return [json.loads(line) for line in done.stdout.splitlines()]
