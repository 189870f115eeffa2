"""Goal: docs/migration_table.md moves the rows of a hand-written outbox table without loss, in order, and each once, though
the move is killed; and leads back.

Method: the blocks of the page are run, in Debian's Python and the shell sqlite3, on a file with old rows, some of them sent,
and an index that has them in another order. Bob's frames are compared with the rows.

    table_test.py PROGRAM EXTENSION SOURCE_DIR
"""

import json
import os
import sqlite3
import sys
import tempfile
import unittest

PROGRAM, EXTENSION, SOURCE = sys.argv[1:4]
sys.path[:0] = [os.path.join(SOURCE, "tests", "clients"), os.path.join(SOURCE, "clients", "python")]

import ackbox  # noqa: E402
from page import Narrow, Serving, Shell, blocks, free_ports, token  # noqa: E402

BLOCKS = blocks(os.path.join(SOURCE, "docs", "migration_table.md"),
                ["sql", "sh", "sh", "sh", "sql", "sh", "python", "sh", "sh", "sql", "sh", "sh"])
TABLE, INIT, SERVE, WAITING, MOVE, LOOP, PLACE, CHECK, PAUSE, BACK, RETURN, OTHER = BLOCKS
SENT, WAIT = 5, 420
# Long ids fill the output's buffers, so that a move of a few rows can be killed in the middle.
FIRST = 10**17
# Of a move, so that there are two.
LIMIT = 350
# A row of the first move.
BAD = 300


class TableTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.shell = Shell(PROGRAM, self.folder, {
            "ACKBOX_EXTENSION": EXTENSION, "PYTHONPATH": os.path.join(SOURCE, "clients", "python")})
        self.shell.write("move.sql", MOVE.replace("LIMIT 1000", "LIMIT %d" % LIMIT).replace(
            "/usr/lib/ackbox/ackbox", EXTENSION[:-len(".so")]))
        self.shell.write("back.sql", BACK)
        self.shell.write("place.py", PLACE)
        self.port = free_ports()
        self.make_table("app.db", WAIT)
        self.shell.run(INIT.replace("alice bob", "alice bob --port %d" % self.port))

    def make_table(self, name, count):
        db = sqlite3.connect(os.path.join(self.folder, name))
        db.executescript(TABLE + "CREATE TABLE orders(item TEXT); CREATE INDEX odd ON outbox(sent_at, created_at DESC);")
        for number in range(SENT + count):
            db.execute("INSERT INTO outbox VALUES(?, 'bob', ?, ?, ?)",
                       (FIRST + number, '{"n": %d}' % number, "2026-01-01 00:%04d" % number, "2026-02-01" if number < SENT else None))
        db.commit()
        db.close()

    def sql(self, statement):
        db = sqlite3.connect(os.path.join(self.folder, "app.db"))
        rows = db.execute(statement).fetchall()
        db.commit()
        db.close()
        return rows

    def counts(self):
        """Rows that wait in the old table, and messages."""
        return self.sql("SELECT (SELECT count(*) FROM outbox WHERE sent_at IS NULL), (SELECT count(*) FROM ackbox_outbox)")[0]

    def receive(self, count):
        """So many frames, and that no other one has come."""
        with ackbox.Client("http://127.0.0.1:%d" % (self.port + 1), token(self.folder, "bob")) as bob:
            frames = []
            for frame in bob.receive(window=256):
                frames.append(frame)
                frame.ack()
                if len(frames) == count:
                    break
            self.assertEqual(self.shell.run("ackbox inbox bob.db --json", 1), "")
        return frames

    def serve_bob(self):
        return Serving(self.shell, "ackbox serve bob.db --config bob.json")

    def refuse(self, column, wrong, right, problem):
        self.sql("UPDATE outbox SET %s='%s' WHERE id=%d" % (column, wrong, FIRST + BAD))
        self.assertIn(problem, self.shell.run(LOOP))
        self.assertEqual(self.counts(), (WAIT, 0))
        self.sql("UPDATE outbox SET %s='%s' WHERE id=%d" % (column, right, FIRST + BAD))

    def test_P2_P4_P5_moved_rows_take_effect_once_and_in_order_though_the_move_is_killed(self):
        with Serving(self.shell, SERVE), self.serve_bob():
            self.assertEqual(self.shell.run(WAITING).strip(), str(WAIT))
            self.refuse("destination", "nobody", "bob", "unknownPeer")
            self.refuse("payload", "{", '{"n": %d}' % BAD, "malformed JSON")
            with open(os.path.join(self.folder, "move.sql"), "rb") as move:
                Narrow(["sqlite3", "app.db"], self.shell, move).kill_after(512)
            self.assertEqual(self.counts(), (WAIT, 0))
            self.shell.run(LOOP)
            self.assertEqual(self.shell.run(CHECK).split()[:2], ["0", str(WAIT)])
            frames = self.receive(WAIT)
            self.assertEqual([(frame.id, frame.session, frame.sequence, frame.data) for frame in frames],
                             [("outbox-%d" % (FIRST + SENT + n), "orders", n + 1, {"n": SENT + n}) for n in range(WAIT)])
            # Rows that are set back by hand.
            self.sql("UPDATE outbox SET sent_at=NULL WHERE id IN (%d, %d)" % (FIRST + SENT, FIRST + SENT + WAIT - 1))
            self.shell.run(LOOP)
            self.shell.run("/usr/bin/python3 -W error place.py app.db lamp desk")
            self.assertEqual([(frame.data, frame.sequence) for frame in self.receive(2)],
                             [({"item": "lamp"}, WAIT + 1), ({"item": "desk"}, WAIT + 2)])

    def test_back_to_the_old_table_in_order(self):
        with Serving(self.shell, SERVE):
            self.shell.run(LOOP)
            self.shell.run("/usr/bin/python3 -W error place.py app.db lamp desk")
            lists = self.shell.run(PAUSE, 1)
            self.assertEqual(lists.count("no message matches"), 2)
        self.shell.run(RETURN)
        self.assertIn("already exists", self.shell.run("sqlite3 app.db < back.sql", 1))
        self.assertEqual(self.sql("SELECT destination, payload FROM outbox WHERE sent_at IS NULL ORDER BY id"),
                         [("bob", '{"n": %d}' % n) for n in range(SENT, SENT + WAIT)]
                         + [("bob", '{"item": "%s"}' % item) for item in ("lamp", "desk")])
        self.assertEqual(self.sql("SELECT count(*) FROM ackbox_messages"), [(0,)])
        self.shell.run("ackbox verify app.db")

    def test_P5_rows_of_another_database_are_enqueued_once_though_that_is_killed(self):
        self.make_table("other.db", WAIT)
        with Serving(self.shell, SERVE.replace("app.db", "alice.db")), self.serve_bob():
            query, enqueue = OTHER.split("ackbox enqueue")
            self.shell.run(query)
            command = "ackbox enqueue" + enqueue.split("<")[0]
            self.shell.run("head -n %d waiting.jsonl > half.jsonl" % (WAIT // 2))
            with open(os.path.join(self.folder, "half.jsonl"), "rb") as half:
                Narrow(command.split(), self.shell, half).kill_after(512)
            self.shell.run(OTHER)
            with open(os.path.join(self.folder, "receipts.jsonl"), encoding="utf-8") as receipts:
                statuses = [json.loads(line)["status"] for line in receipts]
            stored = statuses.count("duplicate")
            self.assertTrue(0 < stored <= WAIT // 2)
            self.assertEqual(statuses, ["duplicate"] * stored + ["stored"] * (WAIT - stored))
            self.assertEqual([frame.data["n"] for frame in self.receive(WAIT)], list(range(SENT, SENT + WAIT)))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
