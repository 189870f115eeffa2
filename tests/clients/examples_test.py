"""Goal: the agents in Python and TypeScript that the examples show play on though SIGKILL ends them and their daemons, and
no ball is lost, doubled or out of order.

Method: run them on two daemons; kill one of the four processes at each third ball, in turns, and start it again.

    examples_test.py PROGRAM SOURCE_DIR
"""

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile

import stage

BALLS = 120


class Agent:
    def __init__(self, command, log, environment):
        self._command = command
        self._log = log
        self._environment = environment
        self._process = None

    def start(self):
        with open(self._log, "ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log, env=self._environment)

    def end(self):
        self._process.kill()
        self._process.wait()

    def has_ended(self):
        return self._process.poll() is not None


def caught(file):
    db = sqlite3.connect(file, timeout=30)
    try:
        return [row[0] for row in db.execute("SELECT n FROM caught ORDER BY rowid")]
    except sqlite3.OperationalError:
        return []  # The agent has not made its table yet.
    finally:
        db.close()


def main(program, source):
    with tempfile.TemporaryDirectory() as folder, stage.Pair(program, folder) as pair:
        subprocess.run([os.path.join(source, "tests", "clients", "install_typescript"), source, folder], check=True)
        shutil.copy(os.path.join(source, "examples", "20_typescript_agent", "main.mjs"), folder)
        file = os.path.join(folder, "caught.db")
        environment = {**os.environ, "PYTHONPATH": os.path.join(source, "clients", "python")}
        example = os.path.join(source, "examples", "19_python_agent", "main.py")
        log = os.path.join(folder, "agents.log")
        python = Agent([sys.executable, example, pair.alice.url, "bob", file, str(BALLS)], log, environment)
        node = Agent(["node", os.path.join(folder, "main.mjs"), pair.bob.url, "alice"], log, environment)
        for agent in (python, node):
            agent.start()
        victims = [python, pair.bob, node, pair.alice]
        wanted = list(range(2, BALLS + 1, 2))
        for kill in range(6):
            stage.wait_until(lambda: len(caught(file)) >= 3 * kill + 1 or python.has_ended(), "the game goes on")
            victims[kill % 4].end()
            victims[kill % 4].start()
        stage.wait_until(lambda: len(caught(file)) >= len(wanted), "the game ends")
        stage.wait_until(python.has_ended, "the agent that threw the first ball ends")
        node.end()
        found = caught(file)
        if found != wanted:
            with open(log) as agents:
                print("caught %s instead of %s\n%s" % (found, wanted, agents.read()))
            return 1
    print("%d balls, 6 kills" % BALLS)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
