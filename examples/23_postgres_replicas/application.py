"""An application of bob's: applies entries to the balances in bob's database, each in one transaction with its mark.

    application.py DAEMON_URL DATABASE_URL
"""

import sys

import ackbox
import psycopg


def entry(db, event):
    account, number, amount = event.data["account"], event.data["n"], event.data["amount"]
    db.execute("INSERT INTO applied(account, n, amount) VALUES (%s, %s, %s)", (account, number, amount))
    db.execute("INSERT INTO balances AS b VALUES (%s, %s) ON CONFLICT (account) DO UPDATE SET amount=b.amount+excluded.amount",
               (account, amount))


with psycopg.connect(sys.argv[2]) as database:
    ackbox.create_marks(database)
    print("ready", flush=True)
    for frame in ackbox.Client(sys.argv[1]).receive(types="ledger.entry", window=16):
        frame.ack(ackbox.apply(database, frame, entry).result)
