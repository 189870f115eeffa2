"""Goal: the extension does on an application's connection what OutboxWriter does, and leaves the host as it was.

Method: Debian's Python and the shell sqlite3 load it into their SQLite, on the file of an agent that ran or runs; what
it answers is compared with what the tool answers.

    extension_test.py PROGRAM EXTENSION SOURCE_DIR
"""

import ctypes
import json
import os
import re
import select
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

from host import EXTENSION, PROGRAM, SOURCE, ackbox, connect, enqueue, make_outbox, stage, tool, value

FOLDER = tempfile.TemporaryDirectory()
unittest.addModuleCleanup(FOLDER.cleanup)
TEMPLATE = make_outbox(FOLDER.name)
FRAME = {"peer": "bob", "session": "orders", "type": "order.placed", "data": {"n": 1}}


class ExtensionTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.file = self.copy("agent.db")
        self.db = connect(self.file)
        self.addCleanup(self.db.close)
        self.db.execute("CREATE TABLE orders(n INTEGER)")

    def copy(self, name):
        return shutil.copyfile(TEMPLATE, os.path.join(self.folder.name, name))

    def refused(self, text, sql, *parameters, db=None):
        with self.assertRaisesRegex(sqlite3.OperationalError, text) as raised:
            (db or self.db).execute(sql, parameters).fetchall()
        # Names are SQL's, not those of the C++ options, besides the words that statuses are.
        self.assertNotRegex(re.sub(r"^ackbox: \w+: |[KMG]iB$", "", str(raised.exception)), "[a-z][A-Z]")
        return raised.exception

    def begin(self, db=None):
        (db or self.db).execute("BEGIN IMMEDIATE")

    def counts(self):
        """Rows of the application, and messages."""
        return value(self.db, "SELECT count(*) FROM orders"), value(self.db, "SELECT count(*) FROM ackbox_outbox")

    def test_P2_a_message_commits_and_rolls_back_with_the_row(self):
        self.begin()
        self.db.execute("INSERT INTO orders VALUES(1)")
        self.assertEqual(enqueue(self.db, FRAME)["sequence"], 1)
        self.db.execute("ROLLBACK")
        self.assertEqual(self.counts(), (0, 0))
        self.begin()
        self.db.execute("INSERT INTO orders VALUES(1)")
        receipt = json.loads(value(self.db, "SELECT ackbox_enqueue('bob','orders','order.placed','{\"n\":1}')"))
        self.assertEqual(value(self.db, "SELECT last_insert_rowid()"), 1)
        self.db.execute("COMMIT")
        self.assertEqual(self.counts(), (1, 1))
        self.assertEqual([(one["message_id"], one["sequence"]) for one in tool("list", self.file)],
                         [(receipt["message_id"], 1)])

    def test_receipts_are_the_tools(self):
        lines = [{**FRAME, "id": "m-1", "priority": 7}, {**FRAME, "id": "m-1"}, {**FRAME, "id": "m-2", "idempotency_key": "k"},
                 {**FRAME, "id": "m-3", "idempotency_key": "k"}, {**FRAME, "id": "m-4", "session": "", "not_before_ms": 1},
                 {**FRAME, "id": "m-5", "session": "prices", "supersede_key": "s"},
                 {**FRAME, "id": "m-6", "session": "prices", "supersede_key": "s", "expires_at": "2126-01-01T00:00:00Z"}]
        other = self.copy("other.db")
        wanted = tool("enqueue", other, lines="\n".join(json.dumps(line) for line in lines))
        self.begin()
        receipts = [enqueue(self.db, line) for line in lines]
        self.db.execute("COMMIT")
        # The API's receipt has it, too; the tool's line does not.
        self.assertEqual(receipts[-1].pop("superseded_id"), "m-5")
        self.assertEqual([{"line": place, **receipt} for place, receipt in enumerate(receipts, 1)], wanted)
        hidden = ("enqueued_at", "enqueued_at_ms")
        shown = [[{key: of for key, of in one.items() if key not in hidden} for one in tool("list", file)]
                 for file in (self.file, other)]
        self.assertEqual(len(shown[0]), 4)
        self.assertEqual(shown[0], shown[1])

    def test_a_refusal_leaves_the_transaction_as_it_was(self):
        refusals = [("unknownPeer: the outbox knows the peers: bob", {**FRAME, "peer": "carol"}),
                    ("invalidFrame: type must be", {**FRAME, "type": ""}),
                    ("invalidFrame: a frame has no key \"typ\"", {"typ": 1}),
                    ("invalidFrame: priority", {**FRAME, "priority": 10}),
                    ("invalidFrame: supersede_key needs a session", {**FRAME, "session": "", "supersede_key": "s"}),
                    ("invalidFrame: not_before must lie before expires_at", {**FRAME, "not_before_ms": 2, "expires_at_ms": 2}),
                    ("frameTooLarge: data has 300002 bytes; frame_bytes_max allows", {**FRAME, "data": "x" * 300_000})]
        self.begin()
        for text, frame in refusals:
            self.db.execute("INSERT INTO orders VALUES(1)")
            self.refused(re.escape(text), "SELECT ackbox_enqueue(?)", json.dumps(frame))
            enqueue(self.db, FRAME)
        self.refused("invalidFrame", "SELECT ackbox_enqueue('bob','s','t','{')")
        self.refused("type must be TEXT", "SELECT ackbox_enqueue('bob','s',1,'1')")
        self.refused("data must be TEXT or NULL", "SELECT ackbox_enqueue('bob','s','t',x'00')")
        self.db.execute("COMMIT")
        self.assertEqual(self.counts(), (len(refusals), len(refusals)))
        self.assertEqual(subprocess.run([PROGRAM, "verify", self.file], stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL).returncode, 0)

    def publish(self, *arguments):
        return json.loads(value(self.db, "SELECT ackbox_publish(%s)" % ",".join("?" * len(arguments)), *arguments))

    def test_P2_a_publish_is_a_message_for_each_subscriber_and_commits_with_the_row(self):
        event = {"session": "orders", "type": "order.placed", "data": {"n": 1}}
        self.begin()
        self.assertEqual(self.publish(json.dumps(event)), {"status": "noSubscriber", "messages": []})
        self.db.execute("COMMIT")
        self.assertEqual(self.counts(), (0, 0))
        tool("subscribe", self.file, "orders", "bob", "--type", "order.*")
        self.begin()
        self.db.execute("INSERT INTO orders VALUES(1)")
        self.assertEqual(len(self.publish("orders", "order.placed", '{"n":1}')["messages"]), 1)
        self.db.execute("ROLLBACK")
        self.assertEqual(self.counts(), (0, 0))
        self.begin()
        self.db.execute("INSERT INTO orders VALUES(1)")
        first = self.publish("orders", "order.placed", '{"n":1}')
        keyed = self.publish(json.dumps({**event, "peer": "*", "idempotency_key": "once"}))
        again = self.publish(json.dumps({**event, "idempotency_key": "once"}))
        self.assertEqual(self.publish(None, "other", None), {"status": "noSubscriber", "messages": []})
        self.assertEqual(value(self.db, "SELECT last_insert_rowid()"), 1)
        self.db.execute("COMMIT")
        self.assertEqual((first["status"], keyed["status"], again["status"]), ("stored", "stored", "duplicate"))
        self.assertEqual([(one["peer"], one["sequence"]) for one in first["messages"] + keyed["messages"]], [("bob", 1), ("bob", 2)])
        self.assertEqual([one["message_id"] for one in again["messages"]], [one["message_id"] for one in keyed["messages"]])
        self.assertEqual([(one["message_id"], one["type"]) for one in tool("list", self.file)],
                         [(one["message_id"], "order.placed") for one in first["messages"] + keyed["messages"]])

    def test_a_publish_that_is_refused_leaves_nothing(self):
        tool("subscribe", self.file, "all", "bob")
        self.begin()
        for text, frame in [("invalidFrame: peer must be", FRAME), ("invalidFrame: id must be empty", {"type": "t", "id": "m-1"}),
                            ("invalidFrame: type must be", {"type": ""}), ("frameTooLarge: data has", {"type": "t", "data": "x" * 300_000})]:
            self.refused(re.escape(text), "SELECT ackbox_publish(?)", json.dumps(frame))
        self.refused("invalidFrame", "SELECT ackbox_publish('s','t','{')")
        self.refused("type must be TEXT", "SELECT ackbox_publish('s',1,'1')")
        self.db.execute("COMMIT")
        value(self.db, "SELECT ackbox_configure('{\"max_pending\":1}')")
        self.begin()
        self.publish("s", "t", "1")
        self.refused("queueFull: max_pending = 1 is reached", "SELECT ackbox_publish('s','t','2')")
        self.db.execute("COMMIT")
        self.assertEqual(self.counts(), (0, 1))

    def test_a_full_queue_refuses(self):
        value(self.db, "SELECT ackbox_configure('{\"max_pending\":1}')")
        self.begin()
        enqueue(self.db, FRAME)
        self.refused("queueFull: max_pending = 1 is reached", "SELECT ackbox_enqueue(?)", json.dumps(FRAME))
        self.refused("outside a transaction", "SELECT ackbox_configure('{\"max_pending\":9}')")
        self.db.execute("COMMIT")
        self.assertEqual(self.counts(), (0, 1))
        self.refused("max_pendin: is no option, allowed: table_prefix", "SELECT ackbox_configure('{\"max_pendin\":1}')")
        self.refused("maxPending: is no option", "SELECT ackbox_configure('{\"max\\u0050ending\":1}')")
        self.refused("frame_bytes_max: is 0, allowed: 1 to 64 MiB$", "SELECT ackbox_configure('{\"frame_bytes_max\":0}')")
        self.refused("^ackbox: table_prefix: has a character", "SELECT ackbox_configure('{\"table_prefix\":\"-\"}')")
        self.refused("^ackbox: idempotency_retention_ms: .*, allowed: at least",
                     "SELECT ackbox_configure('{\"idempotency_retention_ms\":9223372036854775808}')")

    def test_what_writes_needs_a_transaction_and_a_statement_of_its_own(self):
        for call in ("ackbox_enqueue('bob','s','t','1')", "ackbox_publish('s','t','1')", "ackbox_mark('a','o','s',1)", "ackbox_mark_id('a','i')"):
            self.refused("noTransaction", "SELECT " + call)
            self.begin()
            self.refused("a SELECT of its own", "INSERT INTO orders SELECT %s" % call)
            self.refused("a SELECT of its own", "INSERT INTO orders VALUES(1) RETURNING %s" % call)
            self.db.execute("CREATE VIEW hidden AS SELECT " + call)
            self.refused("unsafe use", "SELECT * FROM hidden")
            self.db.execute("ROLLBACK")
        self.assertEqual(self.counts(), (0, 0))

    def test_a_file_that_is_no_outbox_takes_marks_alone(self):
        db = connect(os.path.join(self.folder.name, "plain.db"))
        self.addCleanup(db.close)
        self.begin(db)
        self.refused("no tables with the prefix 'ackbox_': this file is no outbox: open the one", "SELECT ackbox_enqueue('bob','s','t','1')", db=db)
        self.assertEqual(value(db, "SELECT ackbox_mark('a','o','s',1)"), 1)
        db.execute("COMMIT")
        self.refused("no tables with the prefix", "SELECT ackbox_stats()", db=db)
        self.assertEqual(value(db, "SELECT ackbox_version()"), ackbox.__version__)

    def test_P1_synchronous_is_raised_or_the_enqueue_refused(self):
        for given in ("OFF", "NORMAL", "FULL"):
            db = sqlite3.connect(self.file, isolation_level=None)
            self.addCleanup(db.close)
            db.execute("PRAGMA synchronous=" + given)
            ackbox.load(db)
            self.assertEqual([value(db, "PRAGMA " + name) for name in ("synchronous", "wal_autocheckpoint", "cache_spill")],
                             [2, 0, 0])
        self.db.execute("PRAGMA synchronous=NORMAL")
        self.begin()
        self.refused("synchronous was lowered on this connection: PRAGMA synchronous=FULL before BEGIN$", "SELECT ackbox_enqueue(?)", json.dumps(FRAME))

    def test_P1_a_file_without_a_write_ahead_log_is_refused(self):
        for mode in ("DELETE", "TRUNCATE", "PERSIST", "MEMORY", "OFF"):
            self.assertEqual(value(self.db, "PRAGMA journal_mode=" + mode), mode.lower())
            self.begin()
            self.refused("journal_mode is %s on this connection: PRAGMA journal_mode=WAL before BEGIN$" % mode.lower(), "SELECT ackbox_enqueue(?)", json.dumps(FRAME))
            self.db.execute("ROLLBACK")
        self.assertEqual(value(self.db, "PRAGMA journal_mode=WAL"), "wal")
        self.begin()
        enqueue(self.db, FRAME)
        self.db.execute("COMMIT")

    def test_P2_an_interrupted_call_leaves_all_or_nothing(self):
        frame = dict(FRAME, session="new", idempotency_key="k")
        for publishes in (False, True):
            sql = "SELECT ackbox_publish(json_remove(?, '$.peer'))" if publishes else "SELECT ackbox_enqueue(?)"
            step = left = 0
            while left <= 0:
                step += 3
                left = step

                def count():
                    nonlocal left
                    left -= 1
                    return left <= 0

                self.begin()
                self.db.execute("INSERT INTO orders VALUES(1)")
                before = self.everything()
                self.db.set_progress_handler(count, 1)
                stored = False
                try:
                    stored = bool(value(self.db, sql, json.dumps(frame)))
                except sqlite3.OperationalError as error:
                    # Without our words the call was over, and its answer was lost.
                    if str(error).startswith("ackbox: "):
                        self.assertIn("(SQLite code 9): by the program", str(error))
                        self.assertEqual(str(error).endswith("; SQLite has rolled the transaction back"), not self.db.in_transaction)
                    else:
                        stored = None
                finally:
                    self.db.set_progress_handler(None, 1)
                if self.db.in_transaction and stored is False:
                    self.assertEqual(self.everything(), before)
                if self.db.in_transaction:
                    self.db.execute("ROLLBACK")
            self.assertTrue(stored)

    def everything(self):
        """The rows of the tables that an enqueue changes."""
        tables = ("orders", "ackbox_outbox", "ackbox_sessions", "ackbox_counters", "ackbox_peer_counters", "ackbox_idempotency_keys", "ackbox_publications")
        return [self.db.execute("SELECT * FROM " + table).fetchall() for table in tables]

    def test_a_full_disk_ends_the_transaction_and_the_text_says_so(self):
        self.db.execute("PRAGMA max_page_count=%d" % (value(self.db, "PRAGMA page_count") + 2))
        self.begin()
        with self.assertRaisesRegex(sqlite3.OperationalError, "^ackbox: .*disk is full.*; SQLite has rolled the transaction back$"):
            for _ in range(20):
                enqueue(self.db, dict(FRAME, data="x" * 2000))
        self.assertFalse(self.db.in_transaction)

    def test_P2_temporary_tables_of_the_same_names_stand_for_none_of_the_outbox(self):
        self.begin()
        enqueue(self.db, FRAME)
        self.db.execute("COMMIT")
        for table in [name for name, in self.db.execute(
                "SELECT name FROM sqlite_schema WHERE type='table' AND name LIKE 'ackbox%'").fetchall()]:
            self.db.execute(f"CREATE TEMP TABLE {table} AS SELECT * FROM main.{table} WHERE 0")
        connection = connect(self.file)
        for db in self.db, connection:
            self.begin(db)
            enqueue(db, FRAME)
            db.execute("COMMIT")
        connection.close()
        self.assertEqual(value(self.db, "SELECT count(*) FROM main.ackbox_outbox"), 3)
        self.assertEqual(value(self.db, "SELECT count(*) FROM temp.ackbox_outbox"), 0)
        self.assertEqual(json.loads(value(self.db, "SELECT ackbox_stats()"))["pending"], 3)
        self.begin()
        self.refused("unknownPeer: the outbox knows the peers: bob", "SELECT ackbox_enqueue('carol','s','t','1')")
        self.db.execute("ROLLBACK")

    def test_what_cannot_write_is_told_to_begin_immediately(self):
        writer = connect(self.file)
        self.addCleanup(writer.close)
        self.db.execute("PRAGMA busy_timeout=0")
        for call in ("ackbox_enqueue('bob','s','t','1')", "ackbox_mark('a','o','s',1)"):
            self.db.execute("BEGIN")
            self.counts()
            writer.execute("INSERT INTO orders VALUES(1)")
            error = self.refused("since this transaction began by reading: ROLLBACK, and begin it with BEGIN IMMEDIATE$",
                                 "SELECT " + call)
            self.assertEqual(error.sqlite_errorname, "SQLITE_BUSY_SNAPSHOT")
            self.db.execute("ROLLBACK")
            self.begin(writer)
            self.db.execute("BEGIN")
            error = self.refused("another connection writes: ROLLBACK, and begin with BEGIN IMMEDIATE", "SELECT " + call)
            self.assertEqual(error.sqlite_errorname, "SQLITE_BUSY")
            self.db.execute("ROLLBACK")
            writer.execute("ROLLBACK")

    def test_P5_marks_are_the_clients(self):
        self.begin()
        self.assertEqual([value(self.db, "SELECT ackbox_mark('a','o','s',?)", n) for n in (1, 3, 3, 2, 4)], [1, 1, 0, 0, 1])
        self.assertEqual([value(self.db, "SELECT ackbox_mark_id('a',?)", n) for n in "xxy"], [1, 0, 1])
        self.db.execute("SAVEPOINT one")
        self.assertEqual(value(self.db, "SELECT ackbox_mark('a','o','s',5)"), 1)
        self.db.execute("ROLLBACK TO one")
        self.assertEqual(value(self.db, "SELECT ackbox_mark('a','o','s',5)"), 1)
        self.refused("sequence must be 1 or more", "SELECT ackbox_mark('a','o','s',0)")
        self.db.execute("COMMIT")
        ackbox.create_marks(self.db)
        for sequence, message, is_new in ((5, "m", False), (6, "m", True), (0, "x", False), (0, "z", True)):
            done = ackbox.apply(self.db, FakeEvent("a", "o", "s", sequence, message), lambda *_: None)
            self.assertEqual(done.is_new, is_new)
        self.begin()
        self.assertEqual(value(self.db, "SELECT ackbox_mark('a','o','s',6)||ackbox_mark_id('a','z')"), "00")
        self.db.execute("COMMIT")

    def test_P10_figures_and_reasons_are_the_tools(self):
        self.begin()
        receipt = enqueue(self.db, FRAME)
        self.db.execute("COMMIT")
        ours, tools = json.loads(value(self.db, "SELECT ackbox_stats()")), tool("stats", self.file)[0]
        self.assertIn("application's connection", ours.pop("log_not_batched"))
        del tools["log_not_batched"]
        self.assertEqual(ours, tools)
        self.assertEqual(ours["pending"], 1)
        explained = json.loads(value(self.db, "SELECT ackbox_explain(?)", receipt["message_id"]))
        self.assertEqual([explained], tool("explain", self.file, receipt["message_id"]))
        self.assertIn("no process has the outbox open", explained["sentence"])
        self.assertIsNone(value(self.db, "SELECT ackbox_explain('unknown')"))

    def test_a_closed_connection_leaves_nothing_open(self):
        def still_open():
            places = [os.path.join("/proc/self/fd", one) for one in os.listdir("/proc/self/fd")]
            return [os.readlink(place) for place in places if os.path.islink(place) and self.file in os.readlink(place)]

        for end in ("COMMIT", "ROLLBACK", None):
            db = connect(self.file)
            self.begin(db)
            enqueue(db, FRAME)
            if end:
                db.execute(end)
            db.close()
            self.db.close()
            self.assertEqual(still_open(), [])
            self.db = connect(self.file)
        self.assertEqual(self.counts(), (0, 1))

    def test_a_commit_calls_running_agents_and_nothing_else_does(self):
        libc = ctypes.CDLL(None, use_errno=True)
        watch = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        self.addCleanup(os.close, watch)
        close_write = 8
        self.assertGreater(libc.inotify_add_watch(watch, os.fsencode(self.owners()), close_write), 0)

        def is_called():
            called = bool(select.select([watch], [], [], 0)[0])
            if called:
                os.read(watch, 4096)
            return called

        for end, expected in (("ROLLBACK", False), ("COMMIT", True)):
            self.begin()
            enqueue(self.db, FRAME)
            self.assertFalse(is_called())
            self.db.execute(end)
            if end == "ROLLBACK":
                self.begin()
                self.db.execute("COMMIT")
            self.assertEqual(is_called(), expected)
        self.db.execute("INSERT INTO orders VALUES(1)")
        self.assertFalse(is_called())

    def owners(self):
        path = self.file + "-ackbox-owners"
        open(path, "a").close()
        return path

    def test_a_child_of_the_process_is_refused(self):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                self.db.execute("SELECT ackbox_stats()")
            except sqlite3.OperationalError as error:
                status = 0 if "process" in str(error) else 2
            finally:
                os._exit(status)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        self.assertTrue(value(self.db, "SELECT ackbox_stats()"))

    def test_P11_text_is_UTF8_exactly_where_Python_says_so(self):
        edges = [0x00, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xec, 0xed, 0xee,
                 0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff]
        high = [one for one in edges if one > 0x7f]
        texts = [bytes([one]) for one in high] + [bytes([one, two]) for one in high for two in edges[1:]]
        texts += [bytes([one, two, 0x80, last]) for one in high for two in high for last in (0x41, 0x80, 0xbf, 0xc0)]
        texts += [bytes([one, two, 0xbf]) for one in high for two in high]
        self.begin()
        for text in texts:
            literal = b'"' + text + b'"'
            sql = "SELECT ackbox_enqueue('bob','','t',CAST(x'%s' AS TEXT))" % literal.hex()
            try:
                literal.decode()
                self.assertTrue(value(self.db, sql), text)
            except UnicodeDecodeError:
                self.refused("data must be JSON text in UTF-8", sql)
        self.db.execute("ROLLBACK")

    def test_the_programs_that_the_documentation_shows_work(self):
        with open(os.path.join(SOURCE, "docs", "sql.md"), encoding="utf-8") as document:
            blocks = re.findall("```(\\w+)\n(.*?)```\n", document.read(), re.DOTALL)
        shown = dict(blocks)
        tool("subscribe", self.file, "audit", "bob", "--type", "order.*")
        for (_, text), printed in zip((block for block in blocks if block[0] == "sql"), ("1\n", "bob|1\n"), strict=True):
            script = text.replace("/usr/lib/ackbox/ackbox", EXTENSION.removesuffix(".so"))
            done = subprocess.run(["sqlite3", "-bail", self.file], input=script, capture_output=True, text=True)
            self.assertEqual((done.stdout, done.stderr), (printed, ""))
        self.db.execute("DROP TABLE orders")
        environment = {**os.environ, "PYTHONPATH": os.path.join(SOURCE, "clients", "python")}
        done = subprocess.run([sys.executable, "-c", shown["python"], self.file], env=environment, capture_output=True,
                              text=True)
        self.assertEqual((done.stdout, done.stderr), ("stored 2\n", ""))
        self.assertEqual(self.counts(), (1, 3))

    def test_a_frame_has_the_lines_defaults(self):
        self.begin()
        self.assertEqual(enqueue(self.db, {"peer": "bob", "type": "t"})["sequence"], 1)
        self.assertEqual(value(self.db, "SELECT ackbox_enqueue('bob',NULL,'t',NULL) ->> 'sequence'"), 0)
        self.assertEqual(self.db.execute("SELECT session,data FROM ackbox_messages ORDER BY row_id").fetchall(),
                         [("default", ""), (None, "")])
        self.db.execute("ROLLBACK")

    def test_it_has_no_SQLite_of_its_own_and_gives_one_name_away(self):
        symbols = subprocess.run(["nm", "-D", EXTENSION], check=True, capture_output=True, text=True).stdout.split("\n")
        self.assertEqual([line.split()[-1] for line in symbols if "sqlite" in line.lower()], ["sqlite3_ackbox_init"])
        self.assertEqual([line for line in symbols if re.search(r" [A-TV-Zi] ", line) and " sqlite3_ackbox_init" not in line], [])
        libraries = subprocess.run(["ldd", EXTENSION], check=True, capture_output=True, text=True).stdout
        self.assertEqual(re.findall(r"lib(?!c\.so|m\.so|pthread)[\w+-]+\.so", libraries), [])


class RunningAgentTest(unittest.TestCase):
    def test_a_running_agent_delivers_what_an_application_commits(self):
        with tempfile.TemporaryDirectory() as folder, stage.Pair(PROGRAM, folder) as pair:
            db = connect(pair.alice.file)
            db.execute("CREATE TABLE orders(n INTEGER)")
            for n in range(20):
                db.execute("BEGIN IMMEDIATE")
                db.execute("INSERT INTO orders VALUES(?)", (n,))
                enqueue(db, {**FRAME, "data": {"n": n}})
                db.execute("ROLLBACK" if n % 5 == 4 else "COMMIT")
            client = ackbox.Client(pair.bob.url)
            taken = []
            for frame in client.receive():
                taken.append(frame.data["n"])
                frame.ack()
                if taken[-1] == 18:
                    break
            client.close()
            self.assertEqual(taken, [n for (n,) in db.execute("SELECT n FROM orders ORDER BY rowid")])
            db.close()


class FakeEvent:
    def __init__(self, source, origin, session, sequence, message):
        self.source, self.origin, self.session, self.sequence, self.id = source, origin, session, sequence, message


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
