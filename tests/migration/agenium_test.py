"""Goal: `python -m ackbox.from_agenium` moves what waits in an outbox of npm `agenium`: each message takes effect once, in
the order of its session, though the program is killed; and refuses what it should.

Method: the package itself makes the file; the blocks of docs/migration_agenium.md are run, with two daemons.

    agenium_test.py PROGRAM SOURCE_DIR INTEROP_MODULES SQLITE_PACKAGE

The folders of modules are made by the tests of interoperation and of the extension in Node; without them it says so and is
left out.
"""

import collections
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

PROGRAM, SOURCE, MODULES, SQLITE_PACKAGE = sys.argv[1:5]
CLIENT = os.path.join(SOURCE, "clients", "python")
sys.path[:0] = [os.path.join(SOURCE, "tests", "clients"), CLIENT]

import ackbox  # noqa: E402
import ackbox.from_agenium  # noqa: E402
from page import Narrow, Serving, Shell, blocks, free_ports, token  # noqa: E402

COUNT, MOVE, CHECK, LINES, BACK = blocks(os.path.join(SOURCE, "docs", "migration_agenium.md"), ["sh"] * 5)
SESSIONS = 12
# And one that AGENIUM has tried.
WAIT = 10 * SESSIONS + 1
ROWS = os.path.join(SOURCE, "tests", "migration", "agenium_rows.mjs")
SHARED = tempfile.TemporaryDirectory()
unittest.addModuleCleanup(SHARED.cleanup)


def setUpModule():
    """AGENIUM with a native module, and a file that it made."""
    modules = os.path.join(SHARED.name, "node_modules")
    os.mkdir(modules)
    shutil.copytree(os.path.join(MODULES, "agenium"), os.path.join(modules, "agenium"))
    os.symlink(os.path.join(MODULES, "@noble"), os.path.join(modules, "@noble"))
    os.symlink(SQLITE_PACKAGE, os.path.join(modules, "better-sqlite3"))
    shutil.copy(ROWS, SHARED.name)
    node("make", os.path.join(SHARED.name, "made"), str(SESSIONS))


def node(action, folder, *arguments):
    done = subprocess.run(["node", "agenium_rows.mjs", action, "alice", folder, *arguments], cwd=SHARED.name,
                          capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]


class AgeniumTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.home = os.path.join(self.folder, ".agenium")
        self.file = os.path.join(self.home, "alice", "sessions.db")
        shutil.copytree(os.path.join(SHARED.name, "made"), self.home)
        self.shell = Shell(PROGRAM, self.folder, {"HOME": self.folder, "PYTHONPATH": CLIENT})

    def serve(self):
        self.port = free_ports()
        self.shell.run("ackbox init alice bob --port %d" % self.port)
        for name in ("alice", "bob"):
            daemon = Serving(self.shell, "ackbox serve %s.db --config %s.json" % (name, name))
            self.addCleanup(daemon.close)

    def page(self, block, *words):
        return block.strip().replace("7070", str(self.port)) + "".join(" " + word for word in words)

    def change(self, sql):
        db = sqlite3.connect(self.file)
        db.execute(sql)
        db.commit()
        db.close()

    def states(self):
        """Read in a copy: a connection of this process could fold the log in."""
        copy = os.path.join(self.folder, "copy")
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(os.path.dirname(self.file), copy)
        db = sqlite3.connect(os.path.join(copy, "sessions.db"))
        rows = dict(db.execute("SELECT status, count(*) FROM outbox_messages GROUP BY 1").fetchall())
        db.close()
        return rows

    def move(self, status, *words):
        """What it prints with --json: the lines, and the figures or the error."""
        text = "python3 -m ackbox.from_agenium ~/.agenium/alice --json " + " ".join(words)
        return [json.loads(line) for line in self.shell.run(text, status).splitlines()]

    def receive(self, count):
        frames = collections.defaultdict(list)
        with ackbox.Client("http://127.0.0.1:%d" % (self.port + 1), token(self.folder, "bob")) as bob:
            for number, frame in enumerate(bob.receive(window=256), 1):
                frames[frame.session].append(frame)
                frame.ack()
                if number == count:
                    break
        self.assertEqual(self.shell.run("ackbox inbox bob.db --json", 1), "")
        return frames

    def test_P4_P5_messages_take_effect_once_and_in_order_though_the_move_is_killed(self):
        self.serve()
        before = self.states()
        self.assertIn("to move", self.shell.run(self.page(COUNT)))
        Narrow(["bash", "-c", "exec " + self.page(MOVE, "--json")], self.shell).kill_after(512)
        self.assertEqual(self.states(), before)
        last = json.loads(self.shell.run(self.page(MOVE, "--json")).splitlines()[-1])
        self.assertEqual((last["stored"] + last["duplicates"], last["refused"], last["held_back"], last["marked"]),
                         (WAIT, 0, 0, WAIT))
        self.assertTrue(0 < last["duplicates"] < WAIT, last)
        self.assertEqual((last["acks_left_out"], last["attempted_before"]), (1, 1))
        frames = self.receive(WAIT)
        self.assertEqual([frame.data for frame in frames.pop("old")], [{"n": "tried"}])
        self.assertEqual(sorted(frames), sorted("s%d" % number for number in range(SESSIONS)))
        for of in frames.values():
            self.assertEqual([(frame.sequence, frame.type, frame.data) for frame in of],
                             [(n + 1, "order.place" if n % 2 else "order.placed",
                               {"n": n, "text": "na\u00efve \u2713 \U0001f600", "amount": 1e21}) for n in range(10)])
        self.shell.run(self.page(CHECK))
        # Nothing is left that AGENIUM would send, but for its own ACK.
        self.assertEqual([frame["payload"]["event"] for frame in node("send", self.home)], ["ACK"])
        self.assertEqual(self.move(0, "--peer bob --url http://127.0.0.1:%d --token-file alice.tokens" % self.port)[-1]["stored"], 0)

    def test_P5_lines_for_the_tool_are_stored_once(self):
        self.serve()
        before = self.states()
        self.shell.run(self.page(LINES))
        self.shell.run(self.page(LINES))
        with open(os.path.join(self.folder, "receipts.jsonl"), encoding="utf-8") as receipts:
            self.assertEqual([json.loads(line)["status"] for line in receipts], ["duplicate"] * WAIT)
        self.assertEqual(self.states(), before)
        frames = self.receive(WAIT)
        self.assertEqual([frame.data["n"] for frame in frames["s3"]], list(range(10)))

    def test_a_refused_message_holds_back_its_session_and_no_other(self):
        self.serve()
        # In s3, the sixth; in s4, the first.
        self.change("UPDATE outbox_messages SET frameJson=replace(frameJson, '\"n\":5', '\"n\":\"%s\"') WHERE sessionId='s3'"
                    % ("x" * 300_000))
        self.change("UPDATE outbox_messages SET frameJson='{' WHERE sessionId='s4' AND frameJson LIKE '%\"n\":0%'")
        words = "--peer bob --url http://127.0.0.1:%d --token-file alice.tokens" % self.port
        last = self.move(5, words)[-1]
        self.assertEqual((last["stored"], last["refused"], last["held_back"]), (WAIT - 15, 2, 13))
        self.assertIn("frameTooLarge", json.dumps(last["refusals"]))
        skipped = " ".join("--skip " + one["message_id"] for one in last["refusals"])
        last = self.move(0, words, skipped)[-1]
        self.assertEqual((last["stored"], last["duplicates"]), (13, WAIT - 15))
        frames = self.receive(WAIT - 2)
        self.assertEqual([frame.data["n"] for frame in frames["s3"]], [0, 1, 2, 3, 4, 6, 7, 8, 9])

    def test_other_states_sessions_and_payloads_when_asked_for(self):
        lines = self.move(0, "--peer bob=carol --session orders --whole-payload --failed --sent")[:-1]
        self.assertEqual([line["data"]["data"]["n"] for line in lines[:3]], ["answered", "given up", "tried"])
        self.assertEqual({(line["peer"], line["session"]) for line in lines}, {("carol", "orders")})
        self.assertEqual([line["data"].get("params", line["data"].get("data"))["n"] for line in lines[3:3 + SESSIONS]], [0] * SESSIONS)

    def test_what_it_refuses(self):
        self.assertIn("--peer bob=NAME", self.move(2)[0]["error"])
        child = subprocess.Popen(["node", "agenium_rows.mjs", "hold", "alice", self.home], cwd=SHARED.name,
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            child.stdout.readline()
            self.assertIn("process %d has" % child.pid, self.move(1, "--peer bob")[0]["error"])
        finally:
            child.communicate()
        self.assertIn("does not answer", self.move(4, "--peer bob --url unix:nothing.sock --retry-for 0")[0]["error"])
        self.change("UPDATE meta SET value='2' WHERE key='schema_version'")
        self.assertIn("version 2; this program knows version 1", self.move(3, "--peer bob")[0]["error"])
        self.change("DROP TABLE sessions")
        self.assertIn("is not a file of AGENIUM", self.move(3, "--peer bob")[0]["error"])
        shutil.rmtree(self.home)
        self.assertIn("no such file", self.move(3, "--peer bob")[0]["error"])

    def test_back_to_agenium(self):
        self.port = free_ports()
        self.shell.run("ackbox init alice bob --port %d" % self.port)
        before = self.states()
        with Serving(self.shell, "ackbox serve alice.db --config alice.json"):
            self.shell.run(self.page(MOVE))
            self.assertEqual(self.states()["ACKED"], WAIT)
            self.shell.run("ackbox pause alice.db bob")
        self.shell.run(self.page(BACK))
        self.assertEqual(self.states(), before)


if __name__ == "__main__":
    if not (os.path.isdir(os.path.join(MODULES, "agenium")) and os.path.isdir(SQLITE_PACKAGE)):
        print("left out: the tests `interop` and `extension: in Node` fetch AGENIUM's modules, and have not")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
