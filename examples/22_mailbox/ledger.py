"""The account of a run: what each agent sent, compared with what the other one applied, from the agents' own tables."""

import collections
import sqlite3

Direction = collections.namedtuple("Direction", "title sent applied doubled lost reordered unexpected")


def rows(file, sql):
    db = sqlite3.connect(file, timeout=30)
    try:
        return db.execute(sql).fetchall()
    finally:
        db.close()


def count(file, table):
    """The rows of `table`, which are never deleted."""
    try:
        return rows(file, "SELECT coalesce(max(rowid), 0) FROM " + table)[0][0]
    except sqlite3.OperationalError:
        return 0  # The agent has not made its tables yet.


def compare(title, sender, receiver):
    entries = "SELECT account, n, amount FROM %s ORDER BY rowid"
    sent, applied = rows(sender, entries % "sent"), rows(receiver, entries % "applied")
    times = collections.Counter(applied)
    furthest, reordered = {}, 0
    for account, n, _ in applied:
        reordered += n < furthest.get(account, 0)
        furthest[account] = max(n, furthest.get(account, 0))
    return Direction(title, len(sent), len(applied), sum(n - 1 for n in times.values()), len(set(sent) - set(applied)),
                     reordered, len(set(applied) - set(sent)))


def is_exact(direction, entries):
    return direction.sent == direction.applied == entries and not any(direction[3:])


def wrong_balances(file):
    """How many accounts have another balance than their entries add up to."""
    return len(rows(file, """
        SELECT account FROM (SELECT account, -amount AS amount FROM sent UNION ALL SELECT account, amount FROM applied
                             UNION ALL SELECT account, -amount FROM balances)
        GROUP BY account HAVING sum(amount) <> 0"""))


def total(file):
    return rows(file, "SELECT coalesce(sum(amount), 0) FROM balances")[0][0]


def print_table(directions):
    print("%-26s%16s%16s" % ("ledger", *(direction.title for direction in directions)))
    for field in Direction._fields[1:]:
        print("%-26s%16d%16d" % (field, *(getattr(direction, field) for direction in directions)))
