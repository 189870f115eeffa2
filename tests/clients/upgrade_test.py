"""Goal: a daemon is upgraded, and set back, without a stop: an old and a new program take turns on one file while messages
are on their way, and each message takes effect once, in its session's order.

Method: two real `ackbox serve` send to each other. SIGKILL ends one after the other at any instant; the other program
takes its place, on the same file. A Python application at each of them takes the messages from a stream and writes a row
and the mark in one transaction. In the end the tables of effects are compared with what was enqueued, nothing may be left,
and both programs verify both files.

    upgrade_test.py PROGRAM SOURCE_DIR [--old PROGRAM] [--kills N] [--seed N] [--careless]

The old program is --old, or ACKBOX_OLD_PROGRAM, or the new one; with another one it is run by hand:
--old PROGRAM --kills 100. With --careless the applications apply without marks; it fails if no repetition is found.
"""

import argparse
import collections
import contextlib
import itertools
import os
import random
import subprocess
import sys
import tempfile
import time

import kill_test
import stage


def start_applications(options, folder, pair, stack):
    script = os.path.join(options.source, "tests", "clients", "kill_application.py")
    environment = {**os.environ, "PYTHONPATH": os.path.join(options.source, "clients", "python")}
    careless = ["careless"] if options.careless else []
    applications = [
        kill_test.Application(name, folder, [sys.executable, script, daemon.url, None, "for.*"] + careless, environment)
        for name, daemon in (("to-bob", pair.bob), ("to-alice", pair.alice))]
    for application in applications:
        application.start()
        stack.callback(application.close)
    return applications


def take_turns(options, pair, feeders):
    """Kills the daemons, and starts the other program in each one's place; returns how often each program was started."""
    chance = random.Random(options.seed)
    programs = [("old", options.old), ("new", options.program)]
    turns = {daemon.name: itertools.cycle(programs) for daemon in pair.daemons}
    # One of them begins as the old program beside the new one.
    next(turns["bob"])
    started = collections.Counter()
    for _ in range(options.kills):
        time.sleep(chance.uniform(0.02, 0.5))
        daemon = chance.choice(pair.daemons)
        label, daemon.program = next(turns[daemon.name])
        daemon.end()
        daemon.start()
        started[label] += 1
        if any(feeder.error for feeder in feeders):
            break
    return started


def verify_by_both(options, pair):
    """What is wrong with the files, as each program finds; the daemons have ended."""
    problems = []
    for daemon in pair.daemons:
        for program in (options.old, options.program):
            found = subprocess.run([program, "verify", daemon.file], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   text=True)
            if found.returncode != 0:
                problems.append("%s verify %s: %s" % (program, daemon.file, found.stdout[:1000]))
    return problems


def run(options, folder, stack):
    """What is wrong; empty: nothing."""
    sys.path.insert(0, os.path.join(options.source, "clients", "python"))
    import ackbox

    seconds = "%ds" % kill_test.REQUEST_SECONDS
    pair = stack.enter_context(stage.Pair(options.old, folder, outbox={"request_timeout": seconds}))
    applications = start_applications(options, folder, pair, stack)
    clients = [ackbox.Client(daemon.url, retry_for=stage.PATIENCE_SECONDS) for daemon in pair.daemons]
    feeders = [kill_test.Feeder(*way) for way in zip(clients, ["bob", "alice"], applications)]
    for feeder in feeders:
        feeder.start()
    started = take_turns(options, pair, feeders)
    last = time.monotonic()
    for feeder in feeders:
        feeder.stop()
    if options.careless:
        return [feeder.application.name + " is careless, and was not found" for feeder in feeders
                if not feeder.has_found_repetition()]
    problems = kill_test.drain(options, pair, clients, feeders, last)
    for feeder in feeders:
        feeder.application.end()
        problems += feeder.judge()
    for client in clients:
        client.close()
    for daemon in pair.daemons:
        daemon.end()
    print("kills: %d; started after them: old %d, new %d; effects: %s; enqueues whose answer was lost: %d" % (
        sum(started.values()), started["old"], started["new"],
        ", ".join("%s %d" % (feeder.application.name, feeder.expected()) for feeder in feeders),
        sum(feeder.duplicates for feeder in feeders)))
    return problems + verify_by_both(options, pair)


def main():
    parser = argparse.ArgumentParser()
    scale = float(os.environ.get("ACKBOX_TEST_SCALE", "1"))
    parser.add_argument("program")
    parser.add_argument("source")
    parser.add_argument("--old", default=os.environ.get("ACKBOX_OLD_PROGRAM"))
    parser.add_argument("--kills", type=int, default=int(6 * scale))
    parser.add_argument("--seed", type=int, default=int(os.environ.get("ACKBOX_TEST_SEED", time.time_ns() % 1000000)))
    parser.add_argument("--careless", action="store_true")
    options = parser.parse_args()
    options.old = options.old or options.program
    options.drained_within = float("inf")
    print("seed %d, %d kills, old program %s" % (options.seed, options.kills, options.old), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        with contextlib.ExitStack() as stack:
            problems = run(options, folder, stack)
        for problem in problems:
            print("FAILED: " + problem)
        for name in ["alice", "bob", "to-alice", "to-bob"] if problems else []:
            with open(os.path.join(folder, name + ".log"), errors="replace") as log:
                print("---- the end of %s.log\n%s" % (name, log.read()[-3000:]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
