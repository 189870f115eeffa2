"""The Python application of kill_test.py: each frame's effect is a row, which no constraint keeps from being there twice.

    kill_application.py URL DATABASE TYPES [careless] [mailbox=AGENT]
"""

import sqlite3
import sys

import ackbox


def effect(db, event):
    db.execute("INSERT INTO effects(session, n) VALUES (?, ?)", (event.session, event.data["n"]))
    return {"n": event.data["n"]}


def main(url, file, types, *rest):
    careless = "careless" in rest
    mailbox = next((one.partition("=")[2] for one in rest if one.startswith("mailbox=")), None)
    db = sqlite3.connect(file, timeout=30)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("PRAGMA synchronous=FULL")
    db.execute("CREATE TABLE IF NOT EXISTS effects(session TEXT NOT NULL, n INTEGER NOT NULL)")
    db.commit()
    ackbox.create_marks(db)
    before = None
    for frame in ackbox.Client(url).receive(types=types, window=16, mailbox=mailbox):
        if frame.data["n"] % 40 == 7 and frame.run == 1:
            frame.retry("not at the first time", after=0.01)
            continue
        if careless:
            # What kill_test.py must find: nothing recognises a repetition. Each settles the one before, as a settlement
            # that follows at once is seldom lost.
            effect(db, frame)
            db.commit()
            if before:
                before.ack()
            before = frame
            continue
        frame.ack(ackbox.apply(db, frame, effect).result)


main(*sys.argv[1:])
