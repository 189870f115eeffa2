"""Goal: the clients and a real `ackbox serve` agree: what the README files show works, requests get answers, every way
to settle a frame does what it says, and pushed requests are verified.

Method: two daemons that send to each other, one of them on a socket file; the wheel and the npm package as they are
installed.

    daemon_test.py PROGRAM SOURCE_DIR
"""

import asyncio
import datetime
import http.client
import http.server
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import unittest

import stage

PROGRAM, SOURCE = sys.argv[1:3]
FOLDER = tempfile.TemporaryDirectory()
sys.path.insert(0, subprocess.run(
    [sys.executable, os.path.join(SOURCE, "clients", "python", "build_backend.py"), FOLDER.name],
    check=True, stdout=subprocess.PIPE, text=True).stdout.strip())
import ackbox  # noqa: E402  (the wheel that was made)
import ackbox.aio  # noqa: E402


def shown_program(document, language):
    """The document's first block of this language."""
    with open(os.path.join(SOURCE, document), encoding="utf-8") as file:
        return re.search("```" + language + "\n(.*?)```\n", file.read(), re.DOTALL).group(1)


class DaemonTest(unittest.TestCase):
    inbox = None

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.pair = stage.Pair(PROGRAM, self.folder.name, alice_unix=True, inbox=self.inbox).__enter__()
        self.addCleanup(self.pair.__exit__)
        self.alice = ackbox.Client(self.pair.alice.url)
        self.bob = ackbox.Client(self.pair.bob.url)
        self.addCleanup(self.alice.close)
        self.addCleanup(self.bob.close)

    def run_program(self, command, **environment):
        done = subprocess.run(command, cwd=self.folder.name, env={**os.environ, **environment}, timeout=120,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout


class PullTest(DaemonTest):
    def test_the_program_that_the_python_readme_shows_works(self):
        program = os.path.join(self.folder.name, "shown.py")
        with open(program, "w", encoding="utf-8") as file:
            file.write(shown_program("clients/python/README.md", "python"))
        command = [sys.executable, program, self.pair.alice.url, self.pair.bob.url]
        self.assertEqual(self.run_program(command, PYTHONPATH=sys.path[0]), "stored 1\nacked\n")

    def test_the_program_that_the_typescript_readme_shows_works(self):
        subprocess.run([os.path.join(SOURCE, "tests", "clients", "install_typescript"), SOURCE, self.folder.name], check=True)
        program = os.path.join(self.folder.name, "shown.mjs")
        with open(program, "w", encoding="utf-8") as file:
            file.write(shown_program("clients/typescript/README.md", "js"))
        received = []

        def answer():
            for frame in self.alice.receive():
                received.append((frame.type, frame.data))
                frame.ack({"orders": 1})

        threading.Thread(target=answer, daemon=True).start()
        self.assertEqual(self.run_program(["node", program, self.pair.bob.url]), "stored 1\nacked\n")
        self.assertEqual(received, [("order.placed", {"item": "lamp"})])

    def test_each_way_to_settle_does_what_it_says(self):
        sent = [self.alice.enqueue("bob", "t", {"n": n}, session="s") for n in range(4)]
        self.assertEqual([one.sequence for one in sent], [1, 2, 3, 4])
        seen = []
        for frame in self.bob.receive(types="t", sessions="s"):
            seen.append(frame.sequence)
            if frame.sequence == 1:
                self.assertTrue(frame.ack({"ok": True}))
                self.assertFalse(frame.ack())
            elif frame.sequence == 2 and seen.count(2) == 1:
                self.assertTrue(frame.retry("later", after=0.01))
            elif frame.sequence == 2 and seen.count(2) == 2:
                self.assertTrue(frame.release())
            elif frame.sequence == 2:
                self.assertTrue(frame.ack())
            elif frame.sequence == 3:
                self.assertTrue(frame.reject("no-such-item"))
            else:
                self.assertTrue(frame.ack())
                break
        # Each waits for the one before it.
        self.assertEqual(seen, [1, 2, 2, 2, 3, 4])
        shown = [self.alice.message(one.id, wait=60) for one in sent]
        self.assertEqual([one["state"] for one in shown], ["acked", "acked", "failed", "acked"])
        self.assertIn("no-such-item", shown[2]["last_error"] + shown[2]["reason"])

    def test_many_frames_are_acknowledged_at_once_and_a_second_time_none_is(self):
        sent = [self.alice.enqueue("bob", "t", n, session="") for n in range(3)]
        frames = self.bob.receive(types="t")
        held = [next(frames) for _ in sent]
        results = [{"got": frame.data} for frame in held]
        self.assertEqual(self.bob.ack_many(held, results), [True] * 3)
        self.assertEqual(self.bob.ack_many(held), [False] * 3)
        self.assertEqual([self.alice.message(one.id, wait=60)["state"] for one in sent], ["acked"] * 3)
        frames.close()

    def test_run_works_on_frames_by_type_until_the_client_is_closed(self):
        thread = threading.Thread(target=self.bob.run, daemon=True, args=({
            "order.placed": lambda frame: frame.ack({"placed": frame.data}), "*": lambda frame: frame.reject("not for me")},))
        thread.start()
        sent = [self.alice.enqueue("bob", type, 7, session="s") for type in ("order.placed", "order.paid", "order.placed")]
        shown = [self.alice.message(one.id, wait=60) for one in sent]
        self.assertEqual([one["state"] for one in shown], ["acked", "failed", "acked"])
        self.assertIn("not for me", shown[1]["last_error"] + shown[1]["reason"])
        self.bob.close()
        thread.join(60)
        self.assertFalse(thread.is_alive())

    def test_the_asyncio_client_enqueues_and_receives(self):
        async def play():
            async with ackbox.aio.Client(self.pair.alice.url) as alice, ackbox.aio.Client(self.pair.bob.url) as bob:
                async def twice(frame):
                    self.assertTrue(await frame.ack({"twice": frame.data * 2}))

                works = asyncio.ensure_future(bob.run({"t": twice}))
                sent = await asyncio.gather(*[alice.enqueue("bob", "t", n) for n in range(40)])
                self.assertEqual(sorted(one.sequence for one in sent), list(range(1, 41)))
                shown = await asyncio.gather(*[alice.message(one.id, wait=60) for one in sent])
                self.assertEqual([one["state"] for one in shown], ["acked"] * 40)
                await bob.close()
                await works

        asyncio.run(play())

    def test_a_stream_that_is_left_gives_its_frame_back(self):
        self.alice.enqueue("bob", "t", 1, session="")
        for frame in self.bob.receive():
            first = frame
            break
        self.assertFalse(first.ack())
        for again in self.bob.receive():
            self.assertEqual((again.id, again.data, again.sequence), (first.id, 1, 0))
            self.assertTrue(again.ack())
            break

    def test_who_waits_for_a_message_gets_the_answer(self):
        def answer():
            for frame in self.bob.receive():
                frame.ack({"twice": frame.data["n"] * 2})

        threading.Thread(target=answer, daemon=True).start()
        # An answer that is there before the wait begins is missed, so that one try may not be enough.
        for n in range(50):
            result = self.alice.message(self.alice.enqueue("bob", "t", {"n": n}).id, wait=60).get("result")
            if result is not None:
                break
        self.assertEqual(result, {"twice": n * 2})

    def test_an_instant_has_one_meaning_in_each_of_its_forms_and_an_expiry_that_has_passed_is_stored(self):
        later = datetime.datetime(2126, 1, 31, 23, 59, 59, 999_000, datetime.timezone.utc)
        milliseconds = round(later.timestamp() * 1000)
        forms = [{"expires_at": later}, {"expires_at": "2126-02-01T01:59:59.999999+02:00"}, {"expires_at_ms": milliseconds}]
        for form in forms:
            sent = self.alice.enqueue("bob", "t", session="", not_before=later - datetime.timedelta(hours=1), **form)
            shown = json.loads(self.run_program([PROGRAM, "show", self.pair.alice.file, sent.id, "--json"]))
            self.assertEqual((shown["not_before_ms"], shown["expires_at_ms"]), (milliseconds - 3_600_000, milliseconds))
        past = {"expires_at": datetime.datetime.now(datetime.timezone.utc), "idempotency_key": "late"}
        sent = self.alice.enqueue("bob", "t", **past)
        self.assertEqual(sent.status, "stored")
        shown = self.alice.message(sent.id, wait=60)
        self.assertEqual((shown["state"], shown["reason"]), ("failed", "expired"))
        self.assertEqual(self.alice.enqueue("bob", "t", **past)[:2], ("duplicate", sent.id))

    def test_a_message_without_a_session_goes_to_the_same_one_by_each_way_to_enqueue(self):
        def api(message):
            connection = http.client.HTTPConnection(self.pair.bob.url[len("http://"):])
            connection.request("POST", "/v1/messages", json.dumps(message), {"Content-Type": "application/json"})
            connection.getresponse().read()
            connection.close()

        program = os.path.join(self.folder.name, "enqueue.mjs")
        subprocess.run([os.path.join(SOURCE, "tests", "clients", "install_typescript"), SOURCE, self.folder.name], check=True)
        with open(program, "w", encoding="utf-8") as file:
            file.write("import { Client } from 'ackbox';\nconst client = new Client(process.argv[2]);\n"
                       "await client.enqueue('alice', 't', 1, { messageId: 'typescript' });\n"
                       "await client.enqueueMany([{ peer: 'alice', type: 't', data: 1, messageId: 'typescript-many' }]);\n")
        self.bob.enqueue("alice", "t", 1, message_id="python")
        self.bob.enqueue_many([{"peer": "alice", "type": "t", "data": 1, "id": "python-many"}])
        self.run_program(["node", program, self.pair.bob.url])
        api({"peer": "alice", "type": "t", "data": 1, "id": "api"})
        subprocess.run([PROGRAM, "enqueue", self.pair.bob.file, "--peer", "alice", "--type", "t"], check=True,
                       input='{"peer":"alice","type":"t","data":1,"id":"tool"}\n', text=True, stdout=subprocess.DEVNULL)
        ids = ["python", "python-many", "typescript", "typescript-many", "api", "tool"]
        shown = [json.loads(self.run_program([PROGRAM, "show", self.pair.bob.file, id, "--json"])) for id in ids]
        self.assertEqual([(one["session"], one["sequence"]) for one in shown],
                         [("default", n + 1) for n in range(len(ids))])

    def test_refusals_have_the_text_of_the_daemon(self):
        with self.assertRaises(ackbox.Invalid) as raised:
            self.alice.enqueue("nobody", "t")
        self.assertIn("no peer has this name", str(raised.exception))
        self.alice.enqueue("bob", "t", {"n": 1}, idempotency_key="k")
        self.assertEqual(self.alice.enqueue("bob", "t", {"n": 1}, idempotency_key="k").status, "duplicate")
        with self.assertRaises(ackbox.Conflict):
            self.alice.enqueue("bob", "t", {"n": 2}, idempotency_key="k")
        with self.assertRaises(ackbox.NotFound):
            self.alice.message("unknown")
        results = self.alice.enqueue_many([{"peer": "bob", "type": "t"}, {"peer": "nobody", "type": "t"}])
        self.assertEqual([result.status for result in results], ["stored", "unknownPeer"])
        self.assertGreaterEqual(self.alice.stats()["enqueued_total"], 2)

    def test_an_enqueue_waits_for_a_daemon_that_is_started_again(self):
        self.pair.alice.end()
        result = []
        thread = threading.Thread(target=lambda: result.append(self.alice.enqueue("bob", "t", 1, session="s")))
        thread.start()
        self.pair.alice.start()
        thread.join(60)
        self.assertEqual(result[0].sequence, 1)


class PushTest(DaemonTest):
    """bob's frames are pushed to an application that verifies them."""

    def setUp(self):
        test = self
        self.events = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                try:
                    event = ackbox.verify_webhook(test.secrets, self.headers, body)
                except ackbox.SignatureInvalid:
                    self.send_error(401)
                    return
                test.events.append(event)
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                self.wfile.write(b'{"pushed":true}')

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        key = os.path.join(FOLDER.name, "push.key")
        if not os.path.exists(key):
            stage.write_key(key)
        with open(key) as file:
            self.secrets = file.read().split()
        url = "http://127.0.0.1:%d/hook" % server.server_address[1]
        self.inbox = {"bob": {"deliver": [{"url": url, "secrets_file": key}]}}
        super().setUp()

    def test_a_pushed_request_is_verified_and_answered(self):
        sent = self.alice.enqueue("bob", "t", {"text": "ä\n"}, session="s")
        self.assertEqual(self.alice.message(sent.id, wait=60)["state"], "acked")
        self.assertEqual([(event.data, event.sequence) for event in self.events], [({"text": "ä\n"}, 1)])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
