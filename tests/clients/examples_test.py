"""Goal: the agents in Python, TypeScript and C++ that the examples show play on though SIGKILL ends them and their daemons,
and no ball is lost, doubled or out of order.

Method: run the first two on daemons, and the one in C++ between them; kill one of the five processes at each third ball,
in turns, and start it again.

    examples_test.py PROGRAM SOURCE_DIR CPP_PARTNER
"""

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile

import stage

BALLS = 120
KILLS = 10


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


def rows(file, sql):
    db = sqlite3.connect(file, timeout=30)
    try:
        return [row[0] for row in db.execute(sql)]
    except sqlite3.OperationalError:
        return []  # The agent has not made its table yet.
    finally:
        db.close()


def caught(file):
    return rows(file, "SELECT n FROM caught ORDER BY rowid")


def main(program, source, partner_program):
    partner_port = stage.free_port()
    with tempfile.TemporaryDirectory() as folder, stage.Pair(program, folder, partner=("carol", partner_port)) as pair:
        subprocess.run([os.path.join(source, "tests", "clients", "install_typescript"), source, folder], check=True)
        shutil.copy(os.path.join(source, "examples", "20_typescript_agent", "main.mjs"), folder)
        file = os.path.join(folder, "caught.db")
        environment = {**os.environ, "PYTHONPATH": os.path.join(source, "clients", "python")}
        example = os.path.join(source, "examples", "19_python_agent", "main.py")
        log = os.path.join(folder, "agents.log")
        python = Agent([sys.executable, example, pair.alice.url, "carol", file, str(BALLS)], log, environment)
        node = Agent(["node", os.path.join(folder, "main.mjs"), pair.bob.url, "carol"], log, environment)
        partner_file = os.path.join(folder, "carol.db")
        carol = Agent([partner_program, partner_file, str(partner_port), pair.key, "alice=" + pair.inboxes[0],
                       "bob=" + pair.inboxes[1]], log, environment)
        for agent in (python, node, carol):
            agent.start()
        victims = [python, pair.bob, carol, node, pair.alice]
        wanted = list(range(2, BALLS + 1, 2))
        for kill in range(KILLS):
            stage.wait_until(lambda: len(caught(file)) >= 3 * kill + 1 or python.has_ended(), "the game goes on")
            victims[kill % 5].end()
            victims[kill % 5].start()
        stage.wait_until(lambda: len(caught(file)) >= len(wanted), "the game ends")
        stage.wait_until(python.has_ended, "the agent that threw the first ball ends")
        for agent in (node, carol):
            agent.end()
        found = caught(file)
        passed = rows(partner_file, "SELECT json_extract(ball, '$.n') FROM passed ORDER BY rowid")
        # From 1 to the last one, each once: alice and bob throw them in turns.
        if found != wanted or passed != list(range(1, BALLS + 1)):
            with open(log) as agents:
                print("caught %s instead of %s, passed on %s\n%s" % (found, wanted, passed, agents.read()))
            return 1
    print("%d balls, %d kills" % (BALLS, KILLS))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
