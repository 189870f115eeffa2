"""Goal: each value of values.json is carried exactly or refused before any effect, as data and as a result, by every door
of a daemon: HTTP, the tool, the clients, and a pushed application's answer. docs/clients.md has the same table.

Method: two daemons. What arrives is compared byte for byte, and behind a client, which reads and writes it anew, as a JSON
value without loss of digits. The C++ doors: tests/unit/manager/values_test.cpp.

    values_test.py PROGRAM SOURCE_DIR
"""

import decimal
import http.client
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import go_programs
import stage

PROGRAM, SOURCE = sys.argv[1:3]
sys.path.insert(0, os.path.join(SOURCE, "clients", "python"))
import ackbox  # noqa: E402
from ackbox.values import from_json  # noqa: E402

DOORS = ["http", "tool", "cpp", "settle", "answer", "python", "typescript", "go"]
RESULTS_SECONDS = 20
FRAMES_SECONDS = 40


class Value:
    def __init__(self, index, raw):
        self.index = index
        self.name = raw["name"]
        pieces = raw.get("json", [])
        if isinstance(pieces, str):
            pieces = [pieces, 1]
        self.json = bytes.fromhex(raw.get("hex", "")) + b"".join(
            piece.encode() * count for piece, count in zip(pieces[::2], pieces[1::2]))
        self.verdicts = {door: raw.get("but", {}).get(door, raw["verdict"]) for door in DOORS}
        if not hasattr(sys, "get_int_max_str_digits") and self.name == "5,000 digits":
            self.verdicts["python"] = "carried"  # Before Python had a limit.


with open(os.path.join(SOURCE, "tests", "clients", "values.json"), encoding="utf-8") as file:
    VALUES = [Value(index, raw) for index, raw in enumerate(json.load(file))]


def of(door, *verdicts):
    return [value for value in VALUES if value.verdicts[door] in verdicts]


def message(value, type):
    return b'{"peer":"bob","type":"%s","session":"","message_id":"%s-%d","data":%s}' % (
        type.encode(), type.encode(), value.index, value.json)


def comparable(text):
    """Equal where the JSON value is: no digit is lost, minus zero is not zero, and a member that is there twice counts."""
    def number(digits):
        value = decimal.Decimal(digits)
        return ("number", value.is_signed(), value)

    return json.loads(text, parse_int=number, parse_float=number,
                      object_pairs_hook=lambda pairs: ("object", sorted(pairs, key=lambda pair: pair[0])))


class PushedApplication(http.server.BaseHTTPRequestHandler):
    """Answers with the value that the message's id names, and notes whether the data came as it was sent."""

    bodies = {}

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        value = VALUES[int(from_json(body)["id"].split("-")[1])]
        self.bodies[value.index] = body
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(value.json)))
        self.end_headers()
        self.wfile.write(value.json)

    def log_message(self, *_):
        pass


class ValuesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), PushedApplication)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        cls.addClassCleanup(server.server_close)
        cls.addClassCleanup(server.shutdown)
        inbox = {"pull": ["http", "tool", "python", "typescript", "go"],
                 "deliver": [{"types": "push", "url": "http://127.0.0.1:%d/" % server.server_address[1]}]}
        cls.pair = stage.Pair(PROGRAM, cls.folder.name, inbox={"bob": inbox}).__enter__()
        cls.addClassCleanup(cls.pair.__exit__)

    def ask(self, daemon, method, path, body=None):
        connection = http.client.HTTPConnection(daemon.url[len("http://"):], timeout=60)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"} if body else {})
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def enqueue(self, values, type):
        """In one request."""
        status, body = self.ask(self.pair.alice, "POST", "/v1/messages",
                                b"[" + b",".join(message(value, type) for value in values) + b"]")
        self.assertEqual(status, 200, body)
        self.assertEqual([one["status"] for one in json.loads(body)["results"]], ["stored"] * len(values))

    def pulled(self, type, count):
        """The connection, and the lines of so many frames by the index of the value; each frame comes once."""
        connection = http.client.HTTPConnection(self.pair.bob.url[len("http://"):], timeout=60)
        self.addCleanup(connection.close)
        connection.request("GET", "/v1/inbox/stream?types=%s&window=256" % type)
        stream = connection.getresponse()
        self.addCleanup(stream.close)  # A stream that nothing refers to is ended.
        lines = {}
        patience = time.monotonic() + FRAMES_SECONDS
        while len(lines) < count:
            self.assertLess(time.monotonic(), patience, "frames are missing: %s have come" % sorted(lines))
            line = stream.readline()
            self.assertNotEqual(line, b"", "the stream has ended")
            if line != b"\n":
                index = int(from_json(line)["event"]["id"].split("-")[1])
                self.assertNotIn(index, lines)
                lines[index] = line
        return lines

    def results(self, type, indexes):
        """Of messages that have one, as bytes by index. The state may be there a moment before the result."""
        found = {}
        patience = time.monotonic() + RESULTS_SECONDS
        for index in indexes:
            while index not in found and time.monotonic() < patience:
                body = self.shown(type, index, "?wait=5s")
                if b',"result":' in body:
                    found[index] = body[body.index(b',"result":') + 10:body.rindex(b"}")]
        return found

    def shown(self, type, index, parameters=""):
        status, body = self.ask(self.pair.alice, "GET", "/v1/messages/%s-%d%s" % (type, index, parameters))
        self.assertEqual(status, 200, body)
        return body

    def assert_no_results(self, type, values):
        for value in values:
            with self.subTest(value.name):
                self.assertIn(b'"state":"acked"', self.shown(type, value.index, "?wait=20s"))
        # Once more, as the state may be there a moment before the result.
        for value in values:
            with self.subTest(value.name):
                self.assertNotIn(b'"result":', self.shown(type, value.index))

    def assert_data(self, values, lines, line_ends=b"\r\n"):
        self.assertEqual(sorted(lines), [value.index for value in values])
        for value in values:
            data = value.json.translate(bytes.maketrans(b"\r\n", line_ends))
            with self.subTest(value.name):
                self.assertRegex(lines[value.index], b'"data":' + re.escape(data) + b"[,}]")

    def test_http(self):
        carried = of("http", "carried")
        self.enqueue(carried, "http")
        for value in of("http", "refused"):
            with self.subTest(value.name):
                status, body = self.ask(self.pair.alice, "POST", "/v1/messages", message(value, "http"))
                self.assertIn(status, (413, 422), body)
                status, body = self.ask(self.pair.alice, "GET", "/v1/messages/http-%d" % value.index)
                self.assertEqual(status, 404, body)
        lines = self.pulled("http", len(carried))
        self.assert_data(carried, lines, line_ends=b"  ")
        receipts = {index: from_json(line)["receipt"].encode() for index, line in lines.items()}

        def settle(settlements):
            return self.ask(self.pair.bob, "POST", "/v1/inbox/settle", b'{"settlements":[%s]}' % b",".join(
                b'{"receipt":"%s","outcome":"ack","result":%s}' % one for one in settlements))

        # What is refused settles nothing: the same frames are settled below.
        for value in of("settle", "refused"):
            with self.subTest(value.name):
                status, body = settle([(receipts[0], value.json)])
                self.assertEqual(status, 422, body)
        settled = of("settle", "carried", "no result")
        status, body = settle([(receipts[value.index], value.json) for value in settled])
        self.assertEqual(status, 200, body)
        self.assertEqual([one["status"] for one in json.loads(body)["results"]], ["settled"] * len(settled))
        expected = {value.index: value.json for value in of("settle", "carried")}
        self.assertEqual(self.results("http", expected), expected)
        self.assert_no_results("http", of("settle", "no result"))

    def test_the_tool(self):
        # Into the file of a daemon that runs.
        lines = b"".join(message(value, "tool") + b"\n" for value in VALUES)
        done = subprocess.run([PROGRAM, "enqueue", self.pair.alice.file, "--json"], input=lines, timeout=60,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertNotEqual(done.returncode, 0)
        stored = [json.loads(line).get("message_id") for line in done.stdout.splitlines() if b'"stored"' in line]
        carried = of("tool", "carried")
        self.assertEqual(stored, ["tool-%d" % value.index for value in carried], done.stdout)
        self.assert_data(carried, self.pulled("tool", len(carried)))

    def test_the_answer_of_a_pushed_application(self):
        """Left out: the application has had its effect, and the sender learns that it was done, without the result."""
        nothing = [value for value in VALUES if value.verdicts["http"] == "refused"]
        self.enqueue(of("http", "carried"), "push")
        status, body = self.ask(self.pair.alice, "POST", "/v1/messages", b"[" + b",".join(
            b'{"peer":"bob","type":"push","session":"","message_id":"push-%d"}' % value.index for value in nothing) + b"]")
        self.assertEqual(status, 200, body)
        expected = {value.index: value.json for value in of("answer", "carried")}
        self.assertEqual(self.results("push", expected), expected)
        self.assert_no_results("push", of("answer", "no result", "left out"))
        self.assert_data(of("http", "carried"), {
            index: body for index, body in PushedApplication.bodies.items() if VALUES[index] not in nothing})
        with open(os.path.join(self.folder.name, "bob.log"), "rb") as log:
            self.assertIn(b"result-left-out", log.read())

    def assert_client(self, door, refused):
        """`refused`: by index, "data" or "result", where the client raised."""
        for value in of(door, "carried", "changed", "refused", "data only"):
            with self.subTest(value.name):
                wanted = {"refused": "data", "data only": "result"}.get(value.verdicts[door])
                self.assertEqual(refused.get(value.index), wanted)
        # Data that comes back as the result proves both ways. None and null are no result.
        back = [value for value in of(door, "carried", "changed") if value.json != b"null"]
        results = self.results(door, [value.index for value in back])
        for value in back:
            with self.subTest(value.name):
                self.assertIn(value.index, results)
                is_same = comparable(results[value.index]) == comparable(value.json)
                self.assertEqual(value.verdicts[door], "carried" if is_same else "changed", results[value.index][:200])

    def test_the_python_client(self):
        refused = {}
        with ackbox.Client(self.pair.alice.url, retry_for=0) as alice, ackbox.Client(self.pair.bob.url) as bob:
            sent = {}
            for value in of("python", "carried", "changed", "refused", "data only"):
                try:
                    id = "python-%d" % value.index
                    alice.enqueue("bob", "python", from_json(value.json), message_id=id)
                    sent[id] = value
                except (TypeError, ValueError, ackbox.TooLarge):
                    refused[value.index] = "data"
            end = threading.Timer(FRAMES_SECONDS, bob.close)
            end.start()
            self.addCleanup(end.cancel)
            for frame in bob.receive(types="python", window=256):
                value = sent.pop(frame.id)
                try:
                    frame.ack(frame.data)
                except (TypeError, ValueError):
                    refused[value.index] = "result"
                    self.assertEqual(json.dumps(frame.data), json.dumps(from_json(value.json)))
                    frame.reject("its client refuses the result")
                if not sent:
                    break
            self.assertEqual(sent, {})
        self.assert_client("python", refused)

    def test_the_typescript_client(self):
        subprocess.run([os.path.join(SOURCE, "tests", "clients", "install_typescript"), SOURCE, self.folder.name], check=True)
        program = os.path.join(self.folder.name, "values_application.mjs")
        shutil.copy(os.path.join(SOURCE, "tests", "clients", "values_application.mjs"), program)
        values = [[value.index, value.json.decode()] for value in of("typescript", "carried", "changed", "refused", "data only")]
        done = subprocess.run(["node", program, self.pair.alice.url, self.pair.bob.url], input=json.dumps(values).encode(),
                              stdout=subprocess.PIPE, timeout=60, check=True)
        self.assert_client("typescript", {int(index): what for index, what in json.loads(done.stdout).items()})

    def test_the_go_client(self):
        """It carries JSON as bytes, so that a program can have a value that is not JSON, too."""
        program = go_programs.build("values_application", SOURCE, self.folder.name)
        if program is None:
            self.skipTest(go_programs.LEFT_OUT)
        values = [[value.index, value.json.hex()] for value in VALUES]
        done = subprocess.run([program, self.pair.alice.url, self.pair.bob.url], input=json.dumps(values).encode(),
                              stdout=subprocess.PIPE, timeout=60, check=True)
        self.assert_client("go", {int(index): what for index, what in json.loads(done.stdout).items()})

    def test_the_documentation_has_this_table(self):
        rows = ["| %s |" % " | ".join([value.name] + [value.verdicts[door] or "-" for door in DOORS])
                for value in VALUES]
        with open(os.path.join(SOURCE, "docs", "clients.md"), encoding="utf-8") as document:
            shown = [line for line in document.read().split("\n| value |", 1)[-1].split("\n\n")[0].splitlines()[2:]]
        self.assertEqual(shown[:len(rows)], rows)
        verdicts = [value.verdicts[door] for value in VALUES for door in DOORS if value.verdicts[door]]
        print("%d values x %d doors: %s" % (len(VALUES), len(DOORS), ", ".join(
            "%d %s" % (verdicts.count(one), one) for one in sorted(set(verdicts)))))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
