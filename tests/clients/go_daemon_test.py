"""Goal: the Go client and a real `ackbox serve` agree: the programs that clients/go/README.md and docs/clients.md show
work, and every operation does what it says.

Method: two daemons that send to each other, one of them on a socket file; the programs as a user builds them, in a module
of their own, with a driver of the tests in the place of the one that they name; and go/daemon_test.go.

    go_daemon_test.py PROGRAM SOURCE_DIR
"""

import os
import re
import subprocess
import sys
import tempfile
import threading
import unittest

import go_programs
import stage

PROGRAM, SOURCE = map(os.path.abspath, sys.argv[1:3])
sys.path.insert(0, os.path.join(SOURCE, "clients", "python"))
import ackbox  # noqa: E402

GO = os.path.join(SOURCE, "tests", "clients", "go")
LINES_MOST = 30


def shown(document, language, number=0):
    """A block of the document in this language."""
    with open(os.path.join(SOURCE, document), encoding="utf-8") as file:
        return re.findall("^```" + language + "\n(.*?)^```$", file.read(), re.DOTALL | re.MULTILINE)[number]


class GoTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        key, port = os.path.join(cls.folder.name, "push.key"), stage.free_port()
        stage.write_key(key)
        bob = {"pull": ["*"], "deliver": [{"types": "push", "url": "http://127.0.0.1:%d/" % port, "secrets_file": key}]}
        cls.pair = stage.Pair(PROGRAM, cls.folder.name, alice_unix=True, inbox={"bob": bob}).__enter__()
        cls.addClassCleanup(cls.pair.__exit__)
        cls.environment = {**go_programs.environment(), "ALICE": cls.pair.alice.url, "BOB": cls.pair.bob.url,
                           "PUSHED_TO": "127.0.0.1:%d" % port, "SECRET_FILE": key}
        cls.tests = os.path.join(cls.folder.name, "go_tests")
        cls.run_program(["go", "test", "-c", "-o", cls.tests, "."], GO)

    @classmethod
    def run_program(cls, command, folder, **environment):
        done = subprocess.run(command, cwd=folder, env={**cls.environment, **environment}, timeout=120,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            raise AssertionError(done.stdout)
        return done.stdout

    def built(self, name, program):
        """The program in a module of its own, made by the commands of the README."""
        folder = os.path.join(self.folder.name, name)
        os.mkdir(folder)
        with open(os.path.join(folder, "main.go"), "w", encoding="utf-8") as file:
            file.write(program)
        self.assertEqual(self.run_program(["gofmt", "-l", "."], folder), "")
        self.run_program(["go", "mod", "init", name], folder)
        self.run_program(["go", "mod", "edit", "-replace", "github.com/mattn/go-sqlite3=" + os.path.join(GO, "sqlite_bridge")],
                         folder)
        self.run_program(["bash", "-ec", shown("clients/go/README.md", "")], folder, ACKBOX=SOURCE)
        self.run_program(["go", "build", "-o", "shown", "."], folder)
        return os.path.join(folder, "shown")

    def test_the_program_that_the_readme_shows_works(self):
        program = self.built("readme", shown("clients/go/README.md", "go"))
        printed = self.run_program([program, self.pair.alice.url, self.pair.bob.url], self.folder.name)
        self.assertEqual(printed, "stored 1\nacked\n")

    def test_the_program_that_the_document_shows_works(self):
        text = shown("docs/clients.md", "go")
        self.assertLessEqual(len(text.splitlines()), LINES_MOST)
        process = subprocess.Popen([self.built("document", text), self.pair.bob.url], cwd=self.folder.name)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        with ackbox.Client(self.pair.alice.url) as alice:
            for frame in alice.receive(types="hello"):
                self.assertEqual(frame.data, "from Go")
                frame.ack()
                break
            results = []
            while not results:  # A result that comes before the wait begins is missed.
                sent = alice.enqueue("bob", "order.placed", {"item": "lamp"})
                shown_message = alice.message(sent.id, wait=60)
                self.assertEqual(shown_message["state"], "acked")
                results = [shown_message[name] for name in ("result",) if name in shown_message]
            self.assertEqual(results, [{"booked": True}])

    def test_the_client_does_what_it_says(self):
        printed = self.run_program([self.tests, "-test.v", "-test.run", "^TestDaemon"], GO)
        self.assertIn("--- PASS: TestDaemon", printed)
        self.assertNotIn("SKIP", printed)

    def test_an_enqueue_waits_for_a_daemon_that_is_started_again(self):
        self.pair.alice.end()
        printed = []
        thread = threading.Thread(target=lambda: printed.append(
            self.run_program([self.tests, "-test.v", "-test.run", "^TestRestart"], GO)))
        thread.start()
        self.pair.alice.start()
        thread.join(60)
        self.assertIn("--- PASS: TestRestart", printed[0])


if __name__ == "__main__":
    if not go_programs.is_installed():
        print(go_programs.LEFT_OUT)
        sys.exit(77)
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
