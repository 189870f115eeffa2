"""Goal: the Python client alone: marks, signatures, and what it does with each answer.

Method: sqlite3 in memory; a scripted HTTP server in a thread, whose answers the test writes.
"""

import base64
import contextlib
import datetime
import decimal
import functools
import hashlib
import hmac
import http.server
import json
import logging
import math
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

import ackbox
from ackbox.stream import Frame


def session_event(sequence, origin="o1", data=None):
    return ackbox.Event({"id": "m%d" % sequence, "source": "urn:agent:alice", "type": "t", "sessionid": "s",
                         "sessionorigin": origin, "sessionseq": str(sequence), "data": data})


def lone_event(id):
    return ackbox.Event({"id": id, "source": "urn:agent:alice", "type": "t"})


class EventTest(unittest.TestCase):
    def test_an_event_says_which_message_an_operator_sends_again(self):
        self.assertIsNone(lone_event("a").resent_of)
        self.assertEqual(ackbox.Event({"id": "b", "source": "urn:agent:alice", "resentof": "a"}).resent_of, "a")


class MarksTest(unittest.TestCase):
    def setUp(self):
        self.db = sqlite3.connect(":memory:")
        self.db.execute("CREATE TABLE effects(id TEXT)")
        ackbox.create_marks(self.db)

    def tearDown(self):
        self.db.close()

    def effect(self, db, event):
        db.execute("INSERT INTO effects VALUES (?)", (event.id,))
        return {"done": event.id}

    def effects(self):
        return [row[0] for row in self.db.execute("SELECT id FROM effects ORDER BY rowid")]

    def test_a_repetition_in_a_session_changes_nothing_and_has_the_same_result(self):
        first = ackbox.apply(self.db, session_event(1), self.effect)
        again = ackbox.apply(self.db, session_event(1), self.effect)
        self.assertEqual(first, (True, {"done": "m1"}))
        self.assertEqual(again, (False, {"done": "m1"}))
        self.assertEqual(self.effects(), ["m1"])

    def test_an_older_number_is_a_duplicate_and_its_result_is_not_known_any_more(self):
        for sequence in (1, 2, 5):
            self.assertTrue(ackbox.apply(self.db, session_event(sequence), self.effect).is_new)
        self.assertEqual(ackbox.apply(self.db, session_event(2), self.effect), (False, None))
        self.assertEqual(self.effects(), ["m1", "m2", "m5"])
        self.assertEqual(self.db.execute("SELECT count(*) FROM ackbox_marks").fetchone()[0], 1)

    def test_a_result_of_the_message_before_is_not_given_for_a_later_one_without(self):
        ackbox.apply(self.db, session_event(1), self.effect)
        ackbox.apply(self.db, session_event(2), lambda db, event: None)
        self.assertEqual(ackbox.apply(self.db, session_event(2), self.effect), (False, None))

    def test_a_sender_with_another_store_begins_anew(self):
        ackbox.apply(self.db, session_event(7), self.effect)
        self.assertTrue(ackbox.apply(self.db, session_event(1, origin="o2"), self.effect).is_new)

    def test_a_message_outside_sessions_is_recognised_by_its_id(self):
        self.assertTrue(ackbox.apply(self.db, lone_event("a"), self.effect).is_new)
        self.assertTrue(ackbox.apply(self.db, lone_event("b"), self.effect).is_new)
        self.assertEqual(ackbox.apply(self.db, lone_event("a"), self.effect), (False, {"done": "a"}))
        self.assertEqual(ackbox.forget_ids(self.db, older_than=datetime.timedelta(hours=1)), 0)
        self.assertEqual(ackbox.forget_ids(self.db, older_than=-3600), 2)

    def test_what_the_effect_raises_undoes_effect_and_mark(self):
        def fails(db, event):
            self.effect(db, event)
            raise KeyError("no such item")

        for event in (session_event(1), lone_event("a")):
            with self.assertRaises(KeyError):
                ackbox.apply(self.db, event, fails)
            self.assertEqual(self.effects(), [])
            self.assertTrue(ackbox.apply(self.db, event, self.effect).is_new)
            self.db.execute("DELETE FROM effects")
            self.db.commit()

    def test_a_result_that_json_cannot_hold_is_refused_before_the_effect_commits(self):
        itself = []
        itself.append(itself)
        refused = [math.nan, math.inf, b"bytes", {1}, decimal.Decimal(1), datetime.datetime(2026, 1, 1), {1: "a"}, object(),
                   {"a": {None: 1}}, itself, functools.reduce(lambda inner, _: [inner], range(60), 1), "a" * 65536,
                   "\ud83d\ude00", "\ud800", {"\udc00": 1}, 10**5000 if hasattr(sys, "get_int_max_str_digits") else math.nan]
        for result in refused:
            def returns(db, event):
                self.effect(db, event)
                return result

            with self.subTest(type(result).__name__), self.assertRaises((TypeError, ValueError)):
                ackbox.apply(self.db, session_event(1), returns)
            self.assertEqual(self.effects(), [])
        for n, result in enumerate(["\0", "ä\u2028😀", 2**100, -0.0, 5e-324, {"": [{}]}, False, "a" * 65534]):
            for _ in range(2):
                self.assertEqual(ackbox.apply(self.db, session_event(n + 1), lambda db, event: result).result, result)

    def test_an_effect_that_ends_the_transaction_is_a_warning_and_does_not_happen_again(self):
        def commits(db, event):
            self.effect(db, event)
            db.commit()
            return {"done": event.id}

        def commits_and_writes(db, event):
            commits(db, event)
            return self.effect(db, event)

        def scripts(db, event):
            db.executescript("INSERT INTO effects VALUES ('script')")
            return {"done": event.id}

        def rolls_back(db, event):
            db.rollback()
            return self.effect(db, event)

        def rolls_back_and_commits(db, event):
            db.rollback()
            return commits(db, event)

        for level in (None, "", "EXCLUSIVE"):
            self.db.isolation_level = level
            for n, effect in enumerate((commits, commits_and_writes, scripts, rolls_back, rolls_back_and_commits)):
                for event in (session_event(n + 1, "%s" % level), lone_event("%d %s" % (n, level))):
                    with self.subTest(effect.__name__, level=level), self.assertLogs("ackbox", "WARNING") as logged:
                        self.assertEqual(ackbox.apply(self.db, event, effect), (True, {"done": event.id}))
                        self.assertIn("ended the transaction that apply commits", logged.output[0])
                        self.assertFalse(self.db.in_transaction)
                        before = self.effects()
                        self.assertEqual(ackbox.apply(self.db, event, effect), (False, {"done": event.id}))
                        self.assertEqual((self.effects(), len(logged.output)), (before, 1))

    def test_an_effect_that_raises_behind_its_own_commit_is_a_warning_and_does_not_happen_again(self):
        def fails(db, event):
            self.effect(db, event)
            db.commit()
            self.effect(db, event)
            raise KeyError("late")

        for event in (session_event(1), lone_event("a")):
            with self.assertLogs("ackbox", "WARNING") as logged, self.assertRaises(KeyError):
                ackbox.apply(self.db, event, fails)
            self.assertIn("raised behind its own commit", logged.output[0])
            self.assertEqual(ackbox.apply(self.db, event, fails), (False, None))
        self.assertEqual(self.effects(), ["m1", "a"])

        def gives_up(db, event):
            self.effect(db, event)
            db.rollback()
            raise KeyError("nothing was done")

        for effect, is_new in ((gives_up, None), (self.effect, True)):
            with contextlib.suppress(KeyError):
                self.assertEqual(ackbox.apply(self.db, session_event(2), effect).is_new, is_new)
        self.assertEqual(self.effects(), ["m1", "a", "m2"])

    def test_a_connection_in_a_transaction_is_refused_and_stays_in_it(self):
        self.db.execute("INSERT INTO effects VALUES ('mine')")
        with self.assertRaises(ValueError):
            ackbox.apply(self.db, session_event(1), self.effect)
        self.assertTrue(self.db.in_transaction)
        self.db.rollback()

    def test_every_isolation_level_of_sqlite3_will_do(self):
        for level in (None, "", "DEFERRED", "EXCLUSIVE"):
            self.db.isolation_level = level
            self.assertTrue(ackbox.apply(self.db, lone_event("level %s" % level), self.effect).is_new)
            self.assertFalse(self.db.in_transaction)

    def test_a_driver_with_format_parameters_in_autocommit_is_refused(self):
        class Other:
            autocommit = True

        with self.assertRaises(ValueError):
            ackbox.apply(Other(), session_event(1), self.effect)


KEY = base64.b64encode(b"k" * 32).decode()


class ExtensionTest(unittest.TestCase):
    def test_a_python_that_cannot_load_extensions_is_told_why_and_what_to_do(self):
        with self.assertRaisesRegex(RuntimeError, re.escape(sys.executable) + ".*--enable-loadable-sqlite-extensions, as "
                                    "pyenv builds it: use the system's Python, .* or enqueue by ackbox.Client"):
            ackbox.load(object())

    def test_an_extension_that_is_missing_is_named_with_the_remedy(self):
        db = mock.Mock()
        with mock.patch("ackbox.extension._places", lambda: iter(())), mock.patch.dict(os.environ):
            os.environ.pop("ACKBOX_EXTENSION", None)
            with self.assertRaisesRegex(RuntimeError, "ackbox.so is not found: install ackbox or its wheel for this platform"):
                ackbox.load(db)
        db.enable_load_extension.assert_not_called()


class ProgramTest(unittest.TestCase):
    def test_the_program_learns_how_it_was_called(self):
        with tempfile.TemporaryDirectory() as folder:
            package = os.path.join(folder, "ackbox")
            shutil.copytree(os.path.dirname(ackbox.__file__), package)
            program = os.path.join(package, "program", "bin", "ackbox")
            os.makedirs(os.path.dirname(program))
            # What pip makes of the entry point.
            script = os.path.join(folder, "a bin", "ackbox")
            os.makedirs(os.path.dirname(script))
            for path, text in ((program, '#!/bin/sh\necho "$ACKBOX_CALLED_AS $*"\n'),
                               (script, "#!%s\nfrom ackbox.__main__ import main\nmain()\n" % sys.executable)):
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
                os.chmod(path, 0o755)
            on_path = os.path.dirname(script) + os.pathsep + os.environ["PATH"]
            for command, path, shown in (([sys.executable, "-m", "ackbox"], on_path, sys.executable + " -m ackbox"),
                                         ([script], on_path, "ackbox"),
                                         ([script], os.environ["PATH"], "'%s'" % script)):
                environment = {**os.environ, "PYTHONPATH": folder, "PATH": path}
                done = subprocess.run(command + ["init"], env=environment, capture_output=True, text=True)
                self.assertEqual((done.stdout, done.stderr), (shown + " init\n", ""))


class WebhookTest(unittest.TestCase):
    body = b'{"specversion":"1.0","id":"m1","source":"urn:agent:alice","type":"t","data":{"n":1}}'

    def headers(self, id="m1", timestamp="1000", body=None, key=b"k" * 32, extra=""):
        content = id.encode() + b"." + timestamp.encode() + b"." + (self.body if body is None else body)
        signature = base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
        return {"Webhook-Id": id, "webhook-timestamp": timestamp, "webhook-signature": extra + "v1," + signature}

    def test_a_signed_request_is_an_event(self):
        event = ackbox.verify_webhook("whsec_" + KEY, self.headers(), self.body, now=1299)
        self.assertEqual((event.id, event.data, event.sequence), ("m1", {"n": 1}, 0))

    def test_any_of_several_signatures_and_secrets(self):
        secrets = ["whsec_" + base64.b64encode(b"n" * 32).decode(), "whsec_" + KEY]
        headers = self.headers(extra="v1a,xyz v1,bm90IHRoaXM= ")
        self.assertEqual(ackbox.verify_webhook(secrets, headers, self.body, now=1000).id, "m1")

    def test_what_is_refused(self):
        good = self.headers()
        cases = {
            "another body": (good, self.body.replace(b"1}", b"2}"), 1000),
            "too old": (good, self.body, 1301),
            "of the future": (good, self.body, 699),
            "another key": (self.headers(key=b"x" * 32), self.body, 1000),
            "another id": ({**good, "Webhook-Id": "m2"}, self.body, 1000),
            "no headers": ({}, self.body, 1000),
            "a timestamp that is no number": ({**good, "webhook-timestamp": "1e3"}, self.body, 1000),
            "another version": ({**good, "webhook-signature": good["webhook-signature"].replace("v1", "v2")}, self.body, 1000),
            "no event": (self.headers(body=b"[]"), b"[]", 1000),
        }
        for name, (headers, body, now) in cases.items():
            with self.subTest(name), self.assertRaises(ackbox.SignatureInvalid):
                ackbox.verify_webhook("whsec_" + KEY, headers, body, datetime.timedelta(minutes=5), now)
        for value in ("ä", "\udc80", "\ud800"):
            for name in good:
                with self.subTest(name + ascii(value)), self.assertRaises(ackbox.SignatureInvalid):
                    ackbox.verify_webhook("whsec_" + KEY, {**good, name: good[name] + " v1," + value}, self.body, now=1000)
        for secret in ("", "whsec_", "whsec_#"):
            with self.assertRaises(ValueError):
                ackbox.verify_webhook(secret, good, self.body, now=1000)


class Script(http.server.ThreadingHTTPServer):
    """Answers in order: (status, headers, body), a function of the handler, or None to close the connection without one.
    Keeps the requests."""

    daemon_threads = True

    def __init__(self, answers):
        self.answers = list(answers)
        self.requests = []
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        self.url = "http://127.0.0.1:%d" % self.server_address[1]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.requests.append((self.command, self.path, dict(self.headers), body))
        if not self.server.answers:
            self.close_connection = True
            return
        answer = self.server.answers.pop(0)
        if answer is None:
            self.close_connection = True
            return
        if callable(answer):
            answer(self)
            return
        status, headers, content = answer
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = answer

    def log_message(self, *_):
        pass


def open_stream(content, ended):
    """An answer that goes on until the client ends it, which sets `ended`."""
    def answer(handler):
        handler.close_connection = True
        handler.send_response(200)
        handler.end_headers()
        handler.wfile.write(content)
        handler.rfile.read(1)
        ended.set()

    return answer


def problem(status, title, detail="", **headers):
    return status, headers, json.dumps({"type": "about:blank", "title": title, "detail": detail}).encode()


STORED = (201, {}, b'{"status":"stored","message_id":"m1","sequence":3}')


class ClientTest(unittest.TestCase):
    @contextlib.contextmanager
    def assertNoLogs_(self, logger):
        """As assertNoLogs, which Python 3.9 has not."""
        with mock.patch.object(logging.getLogger(logger), "warning") as warning:
            yield
        warning.assert_not_called()

    def serve(self, *answers, **options):
        server = Script(answers)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        client = ackbox.Client(server.url, **options)
        self.addCleanup(client.close)
        return server, client

    def test_an_enqueue_is_tried_again_with_the_same_key_after_a_lost_answer(self):
        server, client = self.serve(None, problem(503, "Busy"), problem(507, "Full"), STORED, token="t" * 24)
        self.assertEqual(client.enqueue("bob", "t", {"ä": 1}, session="s"), ("stored", "m1", 3, ""))
        bodies = {body for _, _, _, body in server.requests}
        self.assertEqual(len(server.requests), 4)
        self.assertEqual(len(bodies), 1)
        message = json.loads(bodies.pop())
        self.assertGreaterEqual(len(message.pop("idempotency_key")), 32)
        self.assertEqual(message, {"peer": "bob", "type": "t", "data": {"ä": 1}, "session": "s"})
        self.assertEqual(server.requests[0][2]["Authorization"], "Bearer " + "t" * 24)

    def test_two_enqueues_have_two_keys_and_a_given_one_is_kept(self):
        server, client = self.serve(STORED, STORED, STORED)
        client.enqueue("bob", "t")
        client.enqueue("bob", "t")
        client.enqueue("bob", "t", idempotency_key="order-7")
        keys = [json.loads(request[3])["idempotency_key"] for request in server.requests]
        self.assertEqual(len(set(keys)), 3)
        # The daemon has one default session for all ways to enqueue.
        self.assertFalse(any("session" in json.loads(request[3]) for request in server.requests))
        self.assertEqual(keys[2], "order-7")

    def test_an_instant_is_a_datetime_with_a_zone_or_what_the_daemon_reads(self):
        later = datetime.datetime(2026, 1, 31, 23, 59, 59, 999_999, datetime.timezone(datetime.timedelta(hours=-5)))
        server, client = self.serve(STORED, STORED, (200, {}, b'{"results":[]}'))
        client.enqueue("bob", "t", not_before=later - datetime.timedelta(days=31), expires_at=later)
        client.enqueue("bob", "t", not_before="2026-01-01T00:00:00+02:00", expires_at_ms=1_800_000_000_000)
        client.enqueue_many([{"peer": "bob", "type": "t", "not_before": None, "expires_at": later}])
        sent = [json.loads(request[3]) for request in server.requests]
        self.assertEqual((sent[0]["not_before"], sent[0]["expires_at"]),
                         ("2026-01-01T04:59:59.999Z", "2026-02-01T04:59:59.999Z"))
        self.assertEqual((sent[1]["not_before"], sent[1]["expires_at_ms"]), ("2026-01-01T00:00:00+02:00", 1_800_000_000_000))
        self.assertEqual(sent[2][0]["expires_at"], "2026-02-01T04:59:59.999Z")
        self.assertNotIn("not_before", sent[2][0])
        for name in ("not_before", "expires_at"):
            with self.assertRaisesRegex(ValueError, name + " is .*, which has no zone: give it one"):
                client.enqueue("bob", "t", **{name: later.replace(tzinfo=None)})
        self.assertEqual(len(server.requests), 3)

    def test_a_duration_is_a_number_of_seconds_or_a_timedelta(self):
        short = datetime.timedelta(milliseconds=1)
        line = json.dumps({"receipt": "r1", "run": 1, "event": session_event(4).raw}).encode() + b"\n"
        server, client = self.serve((200, {}, b'{"message_id":"m1","state":"acked"}'), (200, {}, line),
                                    (200, {}, b'{"results":[{"receipt":"r1","status":"settled"}]}'),
                                    problem(503, "Busy"), retry_for=short, timeout=datetime.timedelta(seconds=20))
        self.assertEqual(client.message("m1", wait=short)["state"], "acked")
        frames = client.receive()
        self.assertTrue(next(frames).retry("later", after=datetime.timedelta(minutes=2)))
        frames.close()
        self.assertEqual(json.loads(server.requests[2][3])["settlements"][0]["after"], "120000ms")
        with self.assertRaises(ackbox.Unavailable):
            client.stats()

    def test_an_option_that_is_misspelt_or_of_a_wrong_type_is_refused_and_nothing_is_sent(self):
        server, client = self.serve()
        for options, text in (({"sesion": "s"}, "enqueue has no option 'sesion': did you mean 'session'?"),
                              ({"notBefore": "x"}, "did you mean 'not_before'?"),
                              ({"colour": 1}, "enqueue has no option 'colour': it has peer, type, data, session"),
                              ({"session": 7}, "session must be str, not int"),
                              ({"priority": "1"}, "priority must be int, not str"),
                              ({"priority": True}, "priority must be int, not bool"),
                              ({"not_before": 5}, "not_before must be datetime or str, not int"),
                              ({"expires_at": datetime.date(2026, 1, 1)}, "expires_at must be datetime or str, not date"),
                              ({"expires_at_ms": 1.5}, "expires_at_ms must be int, not float")):
            with self.subTest(text), self.assertRaisesRegex(TypeError, re.escape(text)):
                client.enqueue("bob", "t", **options)
        for many, text in (([{"peer": "bob"}, {"peer": "bob", "tyep": "t"}], r"messages\[1\] has no option 'tyep': did you mean 'type'\?"),
                           ({"peer": "bob"}, r"messages\[0\] must be Mapping, not str")):
            with self.subTest(text), self.assertRaisesRegex(TypeError, text):
                client.enqueue_many(many)
        frame = Frame(lone_event("m").raw, "r", 1, None)
        secret = "whsec_" + KEY
        for call, text in ((lambda: client.enqueue(None, "t"), "peer must be str"), (lambda: client.enqueue("bob", 7), "type must be str"),
                           (lambda: client.receive(types=["a", "b"]), "types must be str, not list"),
                           (lambda: client.receive(sessions=1), "sessions must be str"),
                           (lambda: client.receive(window="5"), "window must be int, not str"),
                           (lambda: client.message(7), "id must be str"), (lambda: client.message("m", wait="5s"), "wait must be"),
                           (lambda: frame.retry(5), "reason must be str"), (lambda: frame.retry("a", after="5s"), "after must be"),
                           (lambda: frame.reject(KeyError()), "reason must be str, not KeyError"),
                           (lambda: ackbox.Client(server.url, retry_for="60"), "retry_for must be int or float or timedelta"),
                           (lambda: ackbox.Client(server.url, timeout=None), "timeout must be"),
                           (lambda: ackbox.Client(server.url, token=7), "token must be str, not int"),
                           (lambda: ackbox.Client(7), "url must be str"),
                           (lambda: ackbox.forget_ids(None, older_than="1d"), "older_than must be"),
                           (lambda: ackbox.verify_webhook(secret, {}, b"", tolerance="5m"), "tolerance must be")):
            with self.subTest(text), self.assertRaisesRegex(TypeError, "^" + text):
                call()
        with self.assertRaisesRegex(ValueError, "retry_for is nan"):
            ackbox.Client(server.url, retry_for=math.nan)
        self.assertEqual(server.requests, [])

    def test_each_refusal_has_its_type_and_the_text_of_the_problem(self):
        types = {401: ackbox.Unauthenticated, 403: ackbox.Forbidden, 404: ackbox.NotFound, 409: ackbox.Conflict,
                 413: ackbox.TooLarge, 422: ackbox.Invalid, 400: ackbox.ProblemError}
        for status, expected in types.items():
            server, client = self.serve(problem(status, "Refused", "because"))
            with self.subTest(status), self.assertRaises(expected) as raised:
                client.enqueue("bob", "t")
            self.assertEqual(str(raised.exception), "%d Refused: because" % status)
            self.assertEqual(len(server.requests), 1)

    def test_what_does_not_pass_in_time_is_raised(self):
        _, client = self.serve(problem(429, "Queue full", **{"Retry-After": "9"}), retry_for=1.0)
        with self.assertRaises(ackbox.QueueFull) as raised:
            client.enqueue("bob", "t")
        self.assertEqual(raised.exception.retry_after, 9.0)
        with self.assertRaises(ackbox.Unreachable):
            ackbox.Client("unix:/nowhere/s.sock", retry_for=0).stats()

    def test_the_first_failure_of_a_connection_is_a_warning_with_address_cause_and_remedy(self):
        with tempfile.TemporaryDirectory() as folder:
            url = "unix:%s/s.sock" % folder
            client = ackbox.Client(url)
            with mock.patch.object(logging.getLogger("ackbox"), "warning", side_effect=lambda *_: client.close()) as warning:
                with self.assertRaisesRegex(ackbox.AckboxError, "the client was closed"):
                    client.stats()
        self.assertEqual([call.args[0] % call.args[1:] for call in warning.call_args_list], [
            url + " does not answer: [Errno 2] No such file or directory; no socket is there: start the daemon (ackbox serve), "
            "or correct the path; it is tried again, and the failures after it are not logged"])
        with self.assertNoLogs_("ackbox"), self.assertRaisesRegex(ackbox.Unreachable, "no socket is there: start the daemon"):
            ackbox.Client("unix:/nowhere/s.sock", retry_for=0).stats()
        with self.assertLogs("ackbox", "WARNING") as logged:
            server, client = self.serve(None, None, STORED, None, None, STORED)
            client.enqueue("bob", "t")
            client.enqueue("bob", "t")
        self.assertEqual([record.getMessage().split(":")[0] for record in logged.records], ["http"] * 2)

    def test_the_first_failure_of_a_stream_and_of_a_settlement_is_a_warning(self):
        line = json.dumps({"receipt": "r1", "run": 1, "event": session_event(4).raw}).encode() + b"\n"
        server, client = self.serve(None, None, (200, {}, line), None, None, None, None)
        with self.assertLogs("ackbox", "WARNING") as logged:
            frames = client.receive()
            frame = next(frames)
            self.assertEqual(len(logged.output), 1)
            self.assertFalse(frame.ack())
            frames.close()
        self.assertEqual(len(logged.output), 2)
        self.assertIn("%s does not answer: " % server.url, logged.output[0])

    def test_a_wait_that_is_refused_waits_as_long_as_it_is_told_and_then_only_looks(self):
        server, client = self.serve(problem(503, "Too many requests wait", **{"Retry-After": "1"}),
                                    (200, {}, b'{"message_id":"m1","state":"pending"}'))
        begin = time.monotonic()
        self.assertEqual(client.message("m1", wait=0.2)["state"], "pending")
        self.assertGreaterEqual(time.monotonic() - begin, 1.0)
        paths = [request[1] for request in server.requests]
        self.assertEqual(len(paths), 2)
        self.assertNotEqual(paths[0], "/v1/messages/m1?wait=0ms")
        self.assertEqual(paths[1], "/v1/messages/m1?wait=0ms")

    def test_a_page_of_a_proxy_is_no_problem_document(self):
        _, client = self.serve((418, {}, b"<html>teapot"))
        with self.assertRaises(ackbox.ProblemError) as raised:
            client.stats()
        self.assertEqual(str(raised.exception), "418 <html>teapot")

    def test_many_are_answered_one_by_one(self):
        server, client = self.serve(
            (207, {}, b'{"results":[{"status":"stored","message_id":"a","sequence":1},{"status":"queueFull","detail":"full"}]}'))
        results = client.enqueue_many([{"peer": "bob", "type": "t"}, {"peer": "bob", "type": "u", "data": None}])
        self.assertEqual([result.is_accepted for result in results], [True, False])
        self.assertEqual(results[1].detail, "full")
        self.assertTrue(all("idempotency_key" in message for message in json.loads(server.requests[0][3])))

    def test_a_stream_that_ends_is_opened_again_and_half_a_line_is_no_frame(self):
        line = json.dumps({"receipt": "r1", "run": 2, "event": session_event(4).raw}).encode() + b"\n"
        server, client = self.serve(
            (200, {}, b"\n" + line + line[:20]), problem(503, "Too many streams"),
            (200, {}, line), (200, {}, b'{"results":[{"receipt":"r1","status":"gone"}]}'))
        frames = client.receive(types="order.*", sessions="s", window=5)
        first = next(frames)
        self.assertEqual((first.sequence, first.run, first.session), (4, 2, "s"))
        second = next(frames)
        self.assertFalse(second.retry("later", after=1.5))
        frames.close()
        self.assertEqual([request[1] for request in server.requests],
                         ["/v1/inbox/stream?window=5&types=order.%2A&sessions=s"] * 3 + ["/v1/inbox/settle"])
        self.assertEqual(json.loads(server.requests[3][3]), {"settlements": [
            {"receipt": "r1", "outcome": "retry", "reason": "later", "after": "1500ms"}]})

    def test_a_stream_is_asked_for_again_after_what_the_daemon_says_and_while_a_proxy_has_none(self):
        line = json.dumps({"receipt": "r1", "run": 1, "event": session_event(4).raw}).encode() + b"\n"
        server, client = self.serve(problem(503, "Too many streams", **{"Retry-After": "1"}), (502, {}, b"<html>"),
                                    (200, {}, line), problem(503, "Busy", **{"Retry-After": "1"}), (504, {}, b"<html>"),
                                    (200, {}, b'{"results":[{"receipt":"r1","status":"settled"}]}'))
        begin = time.monotonic()
        frames = client.receive()
        frame = next(frames)
        self.assertGreaterEqual(time.monotonic() - begin, 1.0)
        begin = time.monotonic()
        self.assertTrue(frame.ack())
        self.assertGreaterEqual(time.monotonic() - begin, 1.0)
        self.assertEqual(len(server.requests), 6)
        frames.close()

    def test_a_refused_stream_is_raised_with_the_reason(self):
        types = {401: ackbox.Unauthenticated, 403: ackbox.Forbidden, 404: ackbox.NotFound, 422: ackbox.Invalid}
        for status, expected in types.items():
            server, client = self.serve(problem(status, "Refused", "because"))
            with self.subTest(status), self.assertRaises(expected) as raised:
                next(client.receive())
            self.assertEqual(str(raised.exception), "%d Refused: because" % status)
            self.assertEqual(len(server.requests), 1)

    def test_a_frame_whose_settlement_does_not_arrive_ends_its_stream(self):
        line = json.dumps({"receipt": "r1", "run": 1, "event": session_event(4).raw}).encode() + b"\n"
        server, client = self.serve((200, {}, line), None, None, None, None, (200, {}, line))
        frames = client.receive()
        self.assertFalse(next(frames).ack({"a": 1}))
        next(frames)
        self.assertEqual([request[0] for request in server.requests], ["GET", "POST", "POST", "POST", "POST", "GET"])
        frames.close()

    def test_many_frames_are_acknowledged_in_one_request_and_each_is_answered(self):
        lines = "".join(json.dumps({"receipt": "r%d" % n, "run": 1, "event": lone_event("m%d" % n).raw}) + "\n" for n in range(3))
        statuses = [{"receipt": "r%d" % n, "status": status} for n, status in enumerate(("settled", "gone", "settled"))]
        server, client = self.serve((200, {}, lines.encode()), problem(503, "Busy"),
                                    (200, {}, json.dumps({"results": statuses}).encode()))
        frames = client.receive()
        held = [next(frames) for _ in range(3)]
        with self.assertRaisesRegex(ValueError, "3 frames and 1 results"):
            client.ack_many(held, [None])
        with self.assertRaises(TypeError):
            client.ack_many(held, [{"a": 1}, None, b"bytes"])
        self.assertEqual(client.ack_many([]), [])
        self.assertEqual(len(server.requests), 1)
        self.assertEqual(client.ack_many(held, [{"a": 1}, None, "text"]), [True, False, True])
        frames.close()
        self.assertEqual([request[1] for request in server.requests[1:]], ["/v1/inbox/settle"] * 2)
        self.assertEqual(json.loads(server.requests[2][3]), {"settlements": [
            {"receipt": "r0", "outcome": "ack", "result": {"a": 1}}, {"receipt": "r1", "outcome": "ack"},
            {"receipt": "r2", "outcome": "ack", "result": "text"}]})

    def test_more_frames_than_a_request_takes_are_acknowledged_in_several(self):
        def results(count):
            return 200, {}, json.dumps({"results": [{"status": "settled"}] * count}).encode()

        for results_of, counts in ((["x" * 60_000] * 100, [70, 30]), ([None] * 1_025, [1_024, 1])):
            held = [Frame(lone_event("m").raw, "r", 1, None) for _ in results_of]
            server, client = self.serve(*map(results, counts))
            self.assertEqual(client.ack_many(held, results_of), [True] * len(held))
            self.assertEqual([len(json.loads(request[3])["settlements"]) for request in server.requests], counts)

    def test_many_frames_whose_settlement_does_not_arrive_end_their_stream(self):
        line = json.dumps({"receipt": "r1", "run": 1, "event": session_event(4).raw}).encode() + b"\n"
        server, client = self.serve((200, {}, line), None, None, None, None, (200, {}, line))
        frames = client.receive()
        frame = next(frames)
        lease = mock.Mock(held={"r2": None})
        with self.assertRaises(KeyError), frame:
            self.assertEqual(client.ack_many([frame, Frame(lone_event("m").raw, "r2", 1, None, lease)]), [False, False])
            raise KeyError
        self.assertEqual((lease.held, lease.end.call_count), ({}, 1))
        next(frames)
        self.assertEqual([request[0] for request in server.requests], ["GET", "POST", "POST", "POST", "POST", "GET"])
        frames.close()

    def test_what_json_cannot_hold_is_refused_and_nothing_is_sent(self):
        server, client = self.serve(STORED)
        for data in (math.nan, -math.inf, b"a", {1, 2}, decimal.Decimal(1), {1: 2}, datetime.date(2026, 1, 1), [object()],
                     "\ud800"):
            with self.subTest(repr(data)), self.assertRaises((TypeError, ValueError)):
                client.enqueue("bob", "t", data)
            with self.subTest(repr(data)), self.assertRaises((TypeError, ValueError)):
                client.enqueue_many([{"peer": "bob", "type": "t"}, {"peer": "bob", "type": "t", "data": data}])
        self.assertEqual(server.requests, [])
        client.enqueue("bob", "t", {"whole": "ä😀"})
        self.assertIn('"data":{"whole":"ä😀"}'.encode(), server.requests[0][3])

    def test_a_value_that_json_cannot_hold_is_named_by_its_path(self):
        server, client = self.serve()
        items = [1, 2, 3, {"price": math.nan}]
        many_digits = 10**5000 if hasattr(sys, "get_int_max_str_digits") else math.inf
        for data, path in (({"items": items}, "data.items[3].price is nan"), (items, "data[3].price is nan"),
                           (b"a", "data is a bytes"), ({"a b": (math.inf,)}, 'data["a b"][0] is inf'),
                           ({"a": {None: 1}}, "data.a has the key None"), ({"ä": {"\udc00": 1}}, '["\\u00e4"] has half a'),
                           ({"a": ["ä\ud800"]}, "data.a[0] has half a surrogate pair"),
                           ({"a": many_digits}, "data.a (has more digits|is inf)"),
                           ({"k" * 1000: math.nan}, "data.k{295}… is nan")):
            pattern = path if "(" in path or "{" in path else re.escape(path)
            with self.subTest(path), self.assertRaisesRegex((TypeError, ValueError), pattern):
                client.enqueue("bob", "t", data)
        for many, path in (([{"data": 1}, {"data": {"a": math.nan}}], "messages[1].data.a is nan"),
                           ([{"type": "\ud800"}], "messages[0].type has half")):
            with self.assertRaisesRegex(ValueError, "^" + re.escape(path)):
                client.enqueue_many([{"peer": "bob", "type": "t", **one} for one in many])
        with self.assertRaisesRegex(ValueError, r"^result\.a\[0\] is nan"):
            Frame(lone_event("m").raw, "r", 1, None).ack({"a": [math.nan]})
        self.assertEqual(server.requests, [])

    def test_an_exception_in_the_work_on_a_frame_is_the_reason_of_its_retry(self):
        line = json.dumps({"receipt": "r1", "run": 1, "event": session_event(4).raw}).encode() + b"\n"
        settled = (200, {}, b'{"results":[{"receipt":"r1","status":"settled"}]}')
        for error, settlement in ((ValueError("ä" * 9_000_000), {"outcome": "retry", "reason": "ValueError: " + "ä" * 494}),
                                  (KeyError("no item \ud800"), {"outcome": "retry", "reason": "KeyError: 'no item \\ud800'"}),
                                  (ValueError("\ud800 half"), {"outcome": "retry", "reason": "ValueError: ? half"}),
                                  (KeyboardInterrupt(), {"outcome": "release"})):
            server, client = self.serve((200, {}, line), settled)
            with self.assertRaises(type(error)):
                for frame in client.receive():
                    with frame:
                        raise error
            self.assertEqual(json.loads(server.requests[1][3]), {"settlements": [{"receipt": "r1", **settlement}]})

    def test_p13_a_settlement_that_fails_does_not_replace_the_exception_of_the_work(self):
        line = json.dumps({"receipt": "r1", "run": 1, "event": session_event(4).raw}).encode() + b"\n"
        for answer in (problem(409, "No"), (200, {}, b"<html>"), (200, {}, b'{"results":[]}'), (200, {}, b"[]")):
            server, client = self.serve((200, {}, line), answer)
            with self.subTest(answer), self.assertLogs("ackbox", "WARNING") as logged, self.assertRaises(KeyError):
                for frame in client.receive():
                    with frame:
                        raise KeyError("the cause")
            self.assertEqual(len(logged.output), 1)
            self.assertIn("frame m4 of urn:agent:alice was not settled", logged.output[0])

    def test_p13_no_error_below_a_settlement_replaces_the_exception_of_the_work(self):
        for error, work_error in ((ConnectionResetError("gone"), KeyError), (RuntimeError("bug"), KeyboardInterrupt)):
            def settle(_, error=error):
                raise error
            frame = Frame(session_event(4).raw, "r1", 1, settle)
            with self.subTest(error), self.assertLogs("ackbox", "WARNING"), self.assertRaises(work_error):
                with frame:
                    raise work_error

    def test_an_exception_after_a_frame_was_settled_settles_nothing(self):
        line = json.dumps({"receipt": "r1", "run": 1, "event": session_event(4).raw}).encode() + b"\n"
        server, client = self.serve((200, {}, line), (200, {}, b'{"results":[{"receipt":"r1","status":"settled"}]}'))
        with self.assertRaises(KeyError):
            for frame in client.receive():
                with frame:
                    frame.ack()
                    raise KeyError
        self.assertEqual(len(server.requests), 2)

    def run_on(self, handlers, *types, answers=None):
        """What `run` settles of a frame of each of these types, and what it logs. It ends by the refusal of a second stream."""
        lines = "".join(json.dumps({"receipt": "r%d" % n, "run": 1, "event": {**lone_event("m%d" % n).raw, "type": type}}) + "\n"
                        for n, type in enumerate(types))
        settled = (200, {}, b'{"results":[{"receipt":"r","status":"settled"}]}')
        server, client = self.serve((200, {}, lines.encode()), *(answers or [settled] * len(types)), problem(403, "The end"))
        with self.assertLogs("ackbox", "INFO") as logged:
            logging.getLogger("ackbox").info("begin")
            with self.assertRaises(ackbox.Forbidden):
                client.run(handlers)
        bodies = [json.loads(request[3]) for request in server.requests if request[0] == "POST"]
        return [body["settlements"][0] for body in bodies], logged.records[1:]

    def test_run_gives_each_frame_to_the_handler_of_its_type_or_to_that_of_all_others(self):
        handlers = {"a": lambda frame: frame.ack("a"), "*": lambda frame: frame.reject("other")}
        settled, logged = self.run_on(handlers, "a", "b", "a")
        self.assertEqual([(one["receipt"], one.get("result"), one.get("reason")) for one in settled],
                         [("r0", "a", None), ("r1", None, "other"), ("r2", "a", None)])
        self.assertEqual(logged, [])
        settled, logged = self.run_on(lambda frame: frame.ack(frame.type), "a", "b")
        self.assertEqual([one["result"] for one in settled], ["a", "b"])

    def test_run_retries_a_frame_of_a_type_that_has_no_handler_and_warns_once_for_each_type(self):
        settled, logged = self.run_on({"a": lambda frame: frame.ack()}, "b", "a", "b", "c")
        self.assertEqual([(one["outcome"], one.get("reason")) for one in settled],
                         [("retry", 'no handler for type "b"'), ("ack", None), ("retry", 'no handler for type "b"'),
                          ("retry", 'no handler for type "c"')])
        self.assertEqual([record.getMessage()[:23] for record in logged], ['no handler for type "b"', 'no handler for type "c"'])

    def test_run_retries_a_frame_whose_handler_raises_and_goes_on(self):
        def fails(frame):
            raise KeyError(frame.id)

        settled, logged = self.run_on({"*": fails}, "a", "a")
        self.assertEqual([(one["outcome"], one["reason"]) for one in settled],
                         [("retry", "KeyError: 'm0'"), ("retry", "KeyError: 'm1'")])
        self.assertEqual([record.exc_info[0] for record in logged], [KeyError] * 2)
        settled, logged = self.run_on(lambda frame: frame.ack() and fails(frame), "a")
        self.assertEqual([one["outcome"] for one in settled], ["ack"])

    def test_run_retries_a_frame_that_its_handler_left_unsettled_and_warns_once_for_each_type(self):
        settled, logged = self.run_on(lambda frame: {"done": True}, "a", "a", "b")
        self.assertEqual([(one["outcome"], one["reason"]) for one in settled],
                         [("retry", "the handler returned without settling the message")] * 3)
        self.assertEqual(len(logged), 2)
        self.assertIn("<Frame a m0 of urn:agent:alice>", logged[0].getMessage())

    def test_run_ends_where_a_frame_cannot_be_settled_and_when_the_client_is_closed(self):
        line = json.dumps({"receipt": "r1", "run": 1, "event": session_event(4).raw}).encode() + b"\n"
        ended = threading.Event()
        server, client = self.serve(open_stream(line, ended), problem(409, "No"))
        try:
            with self.assertLogs("ackbox", "WARNING"):
                client.run(lambda frame: 1 / 0)
        except ZeroDivisionError as error:
            raised = error
        # While the exception, which refers to the loop's iterator, is kept.
        self.assertTrue(ended.wait(20), raised)
        server, client = self.serve((200, {}, line), (200, {}, b'{"results":[{"receipt":"r1","status":"settled"}]}'))
        client.run(lambda frame: frame.ack() and client.close())

    def test_run_refuses_what_are_no_handlers_before_it_asks_for_frames(self):
        async def waits(frame):
            pass

        server, client = self.serve()
        for handlers, text in ((None, "handlers must be Mapping, not NoneType"), ({}, "handlers is empty"),
                               ({"a": 1}, "the handler of 'a' is no function"), ({7: print}, "a type in handlers must be str"),
                               ({"order.*": print}, "its types are exact: use \"\\*\" for all others"),
                               ({"a": waits}, "is a coroutine function: use ackbox.aio.Client")):
            with self.subTest(text), self.assertRaisesRegex((TypeError, ValueError), text):
                client.run(handlers)
        self.assertEqual(server.requests, [])

    def test_a_loop_that_settles_nothing_is_warned_once(self):
        line = json.dumps({"receipt": "r1", "run": 1, "event": session_event(4).raw}).encode() + b"\n"
        server, client = self.serve((200, {}, line + b"\n" * 9), (200, {}, line + b"\n" * 9 + line))
        with self.assertLogs("ackbox", "WARNING") as logged:
            frames = client.receive()
            for _ in range(3):
                next(frames)
            frames.close()
        self.assertEqual(len(logged.output), 1)
        for part in ("1 are not settled", "<Frame t m4 of urn:agent:alice s/4>", "ack, retry, reject or release"):
            self.assertIn(part, logged.output[0])

    def test_a_frame_with_numbers_beyond_pythons_is_given_out(self):
        event = json.dumps({**session_event(4).raw, "data": [0, 1]}).replace("[0, 1]", "[1e400, %s]" % ("9" * 5000))
        server, client = self.serve((200, {}, b'{"receipt":"r1","run":1,"event":%s}\n' % event.encode()))
        frames = client.receive()
        data = next(frames).data
        frames.close()
        self.assertEqual(data[0], math.inf)
        self.assertIn(data[1], (math.inf, 10**5000 - 1))

    def test_close_ends_a_receiver_of_another_thread(self):
        server, client = self.serve()
        ended = threading.Event()

        def receive():
            for _ in client.receive():
                pass
            ended.set()

        threading.Thread(target=receive, daemon=True).start()
        client.close()
        self.assertTrue(ended.wait(20))

    def test_urls_that_are_none(self):
        for url, token in (("http://bücher.example", None), ("http://localhost", "ключ"), ("unix:/ä", "ключ")):
            with self.subTest(url), self.assertRaises(ValueError):
                ackbox.Client(url, token)
        ackbox.Client("unix:/ä").close()
        for url in ("unix:", "ftp://a", "localhost:7070", "http://user:password@localhost", ""):
            with self.subTest(url), self.assertRaises(ValueError):
                ackbox.Client(url)


if __name__ == "__main__":
    unittest.main()
