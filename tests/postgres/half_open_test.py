"""Goal: P3 P4 P5 P12 P13 where packets between a process and its database are dropped without a word: what is enqueued takes
effect once, in order; the process says that its database is out of reach, and another one on the same database goes on with
its sessions meanwhile.

Method: this program runs in a network namespace of its own, with nothing but the loopback. Two real `ackbox serve` deliver
from one database, each by an address of its own, to a third one with a file. A seeded loop drops all packets of one of the
two addresses for a time, and lets them pass again. In the end the table of effects is compared with what was enqueued.

    half_open_test.py PROGRAM SOURCE_DIR [--cuts N] [--seed N]

It is left out, with status 77, where no such namespace can be made.
"""

import argparse
import contextlib
import copy
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

import daemons_test

INSIDE = "ACKBOX_HALF_OPEN_TEST"
ADDRESSES = ["127.0.0.2", "127.0.0.3"]
PORT = 5432
# Longer than both sides need to notice that the other one is gone.
LONG_SECONDS = 12


class Network:
    def __init__(self):
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)

    def cut(self, address):
        """Packets to the address, and from it, are lost from now on."""
        self._nft("add table ip cut; add chain ip cut in { type filter hook input priority 0; };"
                  "add rule ip cut in ip saddr %s drop; add rule ip cut in ip daddr %s drop" % (address, address))

    def mend(self):
        self._nft("delete table ip cut")

    def _nft(self, rules):
        subprocess.run(["nft", rules], check=True)


class Server(daemons_test.Server):
    """As that one, but also reached by addresses."""

    def __init__(self, stack):
        os.environ.pop("ACKBOX_POSTGRES", None)
        super().__init__(stack)
        self._call("pg_ctl", "-D", self._data, "-w", "-l", os.path.join(self.folder, "log"), "-o",
                   "-c listen_addresses=%s -c port=%d -c unix_socket_directories=%s" % (",".join(ADDRESSES), PORT, self.folder),
                   "restart")


def replica_of(daemon, folder, name):
    """Another process for the same agent, not started."""
    import stage

    with open(os.path.join(folder, daemon.name + ".json")) as file:
        config = copy.deepcopy(json.load(file))
    config["listen"] = "127.0.0.1:%d" % stage.free_port()
    config["inbox"]["listen"] = "127.0.0.1:%d" % stage.free_port()
    return stage.Daemon(daemon.program, folder, name, config)


def run(options, folder, stack):
    """What is wrong; empty: nothing."""
    import ackbox
    import kill_test
    import stage

    network = Network()
    server = Server(stack)
    server.run("CREATE DATABASE alice")
    pair = stage.Pair(options.program, folder, outbox={"request_timeout": "1s", "ack_timeout": "1s"})
    replicas = [pair.alice, replica_of(pair.alice, folder, "alice-2")]
    for replica, address in zip(replicas, ADDRESSES):
        replica.file = "postgres://postgres@%s:%d/alice" % (address, PORT)
    stack.enter_context(pair)
    stack.callback(replicas[1].close)
    replicas[1].start()
    script = os.path.join(options.source, "tests", "clients", "kill_application.py")
    environment = {**os.environ, "PYTHONPATH": os.path.join(options.source, "clients", "python")}
    application = kill_test.Application("at-bob", folder, [sys.executable, script, pair.bob.url, None, "*"], environment)
    application.start()
    stack.callback(application.close)
    clients = [ackbox.Client(replica.url, retry_for=stage.PATIENCE_SECONDS) for replica in replicas]
    # Each has sessions of its own names at the one application.
    feeders = [kill_test.Feeder(client, "bob", application) for client in clients]
    for feeder, name in zip(feeders, ("one", "two")):
        feeder.counts = dict.fromkeys([name + letter for letter in "abc"], 0)
        # Neither is held up by what the other one waits for.
        feeder.expected = application.effect_count
        feeder.start()
    chance = random.Random(options.seed)
    cut_for_long = set()
    for cut in range(options.cuts):
        which = chance.randrange(2)
        seconds = LONG_SECONDS if cut == 0 else chance.choice([chance.uniform(0.5, 5), chance.uniform(5, LONG_SECONDS)])
        if seconds == LONG_SECONDS:
            cut_for_long.add(replicas[which].name)
        network.cut(ADDRESSES[which])
        begin = time.monotonic()
        before = application.effect_count()
        time.sleep(seconds)
        others = application.effect_count() - before
        network.mend()
        print("%s cut off for %.1f s: %d effects meanwhile" % (replicas[which].name, time.monotonic() - begin, others), flush=True)
        count = application.effect_count()
        stage.wait_until(lambda: application.effect_count() > count, "messages take effect again")
        if any(feeder.error for feeder in feeders):
            break
    last = time.monotonic()
    for feeder in feeders:
        feeder.stop()
    wanted = sum(sum(feeder.counts.values()) for feeder in feeders)
    stage.wait_until(lambda: application.effect_count() >= wanted, "every message takes effect")
    stage.wait_until(lambda: not any(clients[0].stats()[what] for what in ("pending", "sending", "sent")),
                     "every message is acknowledged")
    print("drained %.1f s after the last cut" % (time.monotonic() - last))
    application.end()
    unsaid = [name for name in cut_for_long if " database-away " not in log_of(folder, name)]
    return judge(feeders, application) + ["%s does not say that its database was away" % name for name in unsaid]


def judge(feeders, application):
    by_session = {}
    for session, n in application.effects():
        by_session.setdefault(session, []).append(n)
    wanted = {session: list(range(1, count + 1)) for feeder in feeders for session, count in feeder.counts.items()}
    print("effects: %d; enqueues whose answer was lost: %d" % (sum(map(len, by_session.values())),
                                                               sum(feeder.duplicates for feeder in feeders)))
    return ["session %s: %d of %d effects, or out of order" % (session, len(by_session.get(session, [])), len(numbers))
            for session, numbers in wanted.items() if by_session.get(session, []) != numbers]


def log_of(folder, name):
    with open(os.path.join(folder, name + ".log"), encoding="utf-8", errors="replace") as log:
        return log.read()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("source")
    parser.add_argument("--cuts", type=int, default=max(1, int(4 * float(os.environ.get("ACKBOX_TEST_SCALE", "1")))))
    parser.add_argument("--seed", type=int, default=int(os.environ.get("ACKBOX_TEST_SEED", time.time_ns() % 1000000)))
    options = parser.parse_args()
    if INSIDE not in os.environ:
        can = shutil.which("unshare") and shutil.which("nft") and shutil.which("ip") and subprocess.run(
            ["unshare", "--net", "true"], stderr=subprocess.DEVNULL).returncode == 0
        if not can:
            print("left out: a network namespace needs root, unshare, ip and nft")
            return 77
        os.execvpe("unshare", ["unshare", "--net", "--", sys.executable, *sys.argv], {**os.environ, INSIDE: "1"})
    print("seed %d, %d cuts" % (options.seed, options.cuts), flush=True)
    for part in ("tests/clients", "clients/python"):
        sys.path.insert(0, os.path.join(options.source, part))
    with tempfile.TemporaryDirectory() as folder:
        with contextlib.ExitStack() as stack:
            problems = run(options, folder, stack)
        for problem in problems:
            print("FAILED: " + problem)
        for name in ("alice", "alice-2", "bob") if problems else ():
            print("---- the end of %s\n%s" % (name, log_of(folder, name)[-3000:]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
