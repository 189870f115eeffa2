"""An agent behind NAT, in Python beside `ackbox serve`, which fetches from the mailbox at the hub: the application. The
entry, the balance and the message commit together, and so do the entry, the balance and the mark of what it gets; it
survives kill -9 at any instant.

    bob.py URL FILE ENTRIES

URL is of its daemon, FILE the daemon's file, in which it has its tables, too. So many entries are sent. The environment's
ACKBOX_EXTENSION names ackbox.so.
"""

import json
import os
import sqlite3
import sys
import threading
import time
import traceback

import ackbox

ACCOUNTS = 8
PACE_SECONDS = 0.01


def connect(file):
    db = sqlite3.connect(file, isolation_level=None, timeout=30)
    db.execute("PRAGMA synchronous=FULL")
    return db


def create_tables(db):
    # No constraint keeps an entry from being there twice: a repetition must show.
    db.execute("CREATE TABLE IF NOT EXISTS sent(account TEXT, n INTEGER, amount INTEGER)")
    db.execute("CREATE TABLE IF NOT EXISTS applied(account TEXT, n INTEGER, amount INTEGER)")
    db.execute("CREATE TABLE IF NOT EXISTS balances(account TEXT PRIMARY KEY, amount INTEGER)")
    ackbox.create_marks(db)


def add_to_balance(db, account, amount):
    db.execute("INSERT INTO balances VALUES (?, ?) ON CONFLICT(account) DO UPDATE SET amount = amount + excluded.amount",
               (account, amount))


def send_entries(db, entries):
    """Sends numbered entries, an account after the other, until there are so many."""
    ackbox.load(db)
    done = db.execute("SELECT count(*) FROM sent").fetchone()[0]
    while done < entries:
        account, n, amount = "account-%d" % (done % ACCOUNTS + 1), done // ACCOUNTS + 1, done * 53 % 90 + 1
        db.execute("BEGIN IMMEDIATE")
        db.execute("INSERT INTO sent VALUES (?, ?, ?)", (account, n, amount))
        add_to_balance(db, account, -amount)
        db.execute("SELECT ackbox_enqueue('alice', ?, 'ledger.entry', ?)",
                   (account, json.dumps({"n": n, "amount": amount}))).fetchone()
        db.execute("COMMIT")
        done += 1
        time.sleep(PACE_SECONDS)


def apply_entry(db, event):
    db.execute("INSERT INTO applied VALUES (?, ?, ?)", (event.session, event.data["n"], event.data["amount"]))
    add_to_balance(db, event.session, event.data["amount"])


def send(file, entries):
    try:
        send_entries(connect(file), entries)
    except BaseException:
        traceback.print_exc()
        os._exit(1)


def main(url, file, entries):
    db = connect(file)
    create_tables(db)
    threading.Thread(target=send, args=(file, int(entries)), daemon=True).start()
    print("ready", flush=True)
    for frame in ackbox.Client(url).receive(types="ledger.entry"):
        ackbox.apply(db, frame, apply_entry)
        frame.ack()


main(*sys.argv[1:])
