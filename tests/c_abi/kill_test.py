"""Goal: a program with an agent of ackbox.h may be killed at any moment: P1, P3, P4.

Method: a program in C enqueues and prints each receipt; SIGKILL ends it after a drawn time. First it does not deliver:
each receipt that was printed is in its file. Then it delivers, and the receiver, which writes each frame to a file of
effects before it settles it, is killed as well. At last both are left to finish: each receipt has its effect, first
effects are in the order of each session, and their numbers have no gap.

    kill_test.py KILL_AGENT SOURCE [--kills N] [--seed N]
"""

import argparse
import collections
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(sys.argv[2], "tests", "clients"))

from stage import free_port  # noqa: E402

LONGEST_LIFE_SECONDS = 0.15
PATIENCE_SECONDS = 240


class Program:
    """A process that says `begun` and goes on until it is killed. `kill` gives the whole lines that it printed."""

    def __init__(self, *command):
        self._process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE)
        if self._process.stdout.readline() != b"begun\n":
            raise AssertionError("it does not begin: %s" % (command,))

    def kill(self):
        self._process.send_signal(signal.SIGKILL)
        printed = self._process.stdout.read()
        self._process.stdout.close()
        if self._process.wait() != -signal.SIGKILL:
            raise AssertionError("it ended by itself")
        return [line.split() for line in printed.decode().split("\n")[:-1]]


class Kills:
    def __init__(self, program, folder, chance):
        self._program, self._folder, self._chance = program, folder, chance
        self._ports = [str(free_port()), str(free_port())]
        self._effects = os.path.join(folder, "effects")
        self.receipts = []

    def _life(self):
        time.sleep(self._chance.uniform(0, LONGEST_LIFE_SECONDS))

    def _writer(self, delivers):
        return Program(self._program, "write", self._folder, *self._ports, self._chance.randrange(10**6), int(delivers))

    def _receiver(self):
        return Program(self._program, "receive", self._folder, *reversed(self._ports), self._effects)

    def write(self, kills):
        for _ in range(kills):
            writer = self._writer(False)
            self._life()
            self.receipts += writer.kill()

    def missing(self):
        ids = "\n".join(receipt[2] for receipt in self.receipts)
        done = subprocess.run([self._program, "check", self._folder], input=ids, stdout=subprocess.PIPE, text=True,
                              timeout=PATIENCE_SECONDS, check=True)
        return done.stdout

    def deliver(self, kills):
        writer, receiver = self._writer(True), self._receiver()
        for _ in range(kills):
            self._life()
            if self._chance.random() < 0.5:
                self.receipts += writer.kill()
                writer = self._writer(True)
            else:
                receiver.kill()
                receiver = self._receiver()
        self.receipts += writer.kill()
        subprocess.run([self._program, "drain", self._folder, *self._ports], timeout=PATIENCE_SECONDS, check=True)
        receiver.kill()

    def effects(self):
        with open(self._effects, encoding="ascii") as file:
            return [line.split() for line in file]


def faults(receipts, effects):
    first = list(dict.fromkeys(map(tuple, effects)))
    found = ["%s has no effect" % (lost,) for lost in sorted(set(map(tuple, receipts)) - set(first))[:10]]
    numbers = collections.defaultdict(list)
    for session, sequence, _ in first:
        numbers[session].append(int(sequence))
    found += ["session %s took effect as %s" % (session, taken) for session, taken in numbers.items()
              if taken != list(range(1, len(taken) + 1))]
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("source")
    parser.add_argument("--kills", type=int, default=int(10 * float(os.environ.get("ACKBOX_TEST_SCALE", "1"))))
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    print("seed", options.seed, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        kills = Kills(options.program, folder, random.Random(options.seed))
        kills.write(options.kills // 2)
        missing = kills.missing()
        if missing or not kills.receipts:
            raise SystemExit("receipts that the file does not have:\n" + missing)
        alone = len(kills.receipts)
        kills.deliver(options.kills - options.kills // 2)
        effects = kills.effects()
    found = faults(kills.receipts, effects)
    if found:
        raise SystemExit("\n".join(found))
    print("%d kills: %d receipts, %d of them before anything was delivered; %d effects, %d of them repeated"
          % (options.kills, len(kills.receipts), alone, len(effects), len(effects) - len(set(map(tuple, effects)))))


if __name__ == "__main__":
    main()
