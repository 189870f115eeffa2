"""Goal: P3 P4 P5 over a PostgreSQL server that ends: each message that was enqueued takes effect once, in its session's order,
whatever SIGKILL and SIGSTOP do to daemons and applications, and although connections are ended, the server's processes are
killed, and its synchronous standby is promoted. A standby that lacked commits is noticed, and said.

Method: as daemons_test.py, on a primary and a standby that pg_basebackup makes; the daemons' URLs name both
(target_session_attrs=read-write). Between seeded kills, pauses and ends of connections, the process of a connection at the
primary is killed, after which its postmaster ends the others and recovers; and the postmaster is killed: it is started again, or
the standby is promoted, and the dead one becomes the new standby. Then the same with a standby that was cut off before messages
were delivered: their numbers are given to others, and the sender must hold its peer, and say why, until it is made a new store.

    failover_test.py PROGRAM SOURCE_DIR [--promotions N] [--kills N] [--pauses N] [--seed N] [--only-loss]

The kills and pauses are for each promotion. No fsync: the system, and what it keeps of files, does not end here.
"""

import argparse
import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import daemons_test


class Cluster:
    """Two servers, of which one is the primary and the other its standby; run by the user postgres where this one is root."""

    def __init__(self, stack, synchronous=""):
        self.folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="ackbox-"))
        os.chmod(self.folder, 0o777)
        self.primary = "a"
        self.promotions = self.kills = self.crashes = 0
        for name in "ab":
            os.mkdir(self.of(name))
            os.chmod(self.of(name), 0o777)
        self._call("initdb", "-D", self.data("a"), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
        self.start("a")
        stack.callback(self.stop)
        # A standby has this, too: it waits for the next one.
        self.run("ALTER SYSTEM SET synchronous_standby_names='%s'" % synchronous)
        self.run("SELECT pg_reload_conf()")
        self.follow("b")

    @property
    def standby(self):
        return "b" if self.primary == "a" else "a"

    def of(self, name):
        return os.path.join(self.folder, name)

    def data(self, name):
        return os.path.join(self.of(name), "data")

    def _call(self, program, *arguments, check=True):
        prefix = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        return subprocess.run([*prefix, os.path.join(daemons_test.BIN, program), *arguments], check=check,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")

    def start(self, name):
        options = ("-c listen_addresses= -c fsync=off -c shared_buffers=16MB -c client_connection_check_interval=50 "
                   "-c unix_socket_directories=" + self.of(name))
        self._call("pg_ctl", "-D", self.data(name), "-w", "-l", os.path.join(self.of(name), "log"), "-o", options, "start")

    def stop(self):
        for name in "ab":
            self._call("pg_ctl", "-D", self.data(name), "-w", "-m", "immediate", "stop", check=False)

    def kill(self, name):
        """SIGKILL of the first process; returns when its children have ended by themselves, which could still write."""
        with open(os.path.join(self.data(name), "postmaster.pid"), encoding="utf-8") as file:
            process = int(file.readline())
        with open("/proc/%d/task/%d/children" % (process, process), encoding="utf-8") as file:
            children = file.read().split()
        os.kill(process, signal.SIGKILL)
        self.kills += 1
        while any(self._runs(child) for child in children):
            time.sleep(0.01)

    @staticmethod
    def _runs(process):
        try:
            with open("/proc/%s/stat" % process, encoding="utf-8") as file:
                return file.read().rpartition(")")[2].split()[0] not in "ZX"
        except OSError:
            return False

    def crash(self, database):
        """SIGKILL of the process of one of the database's connections: the postmaster ends all others, and recovers."""
        ask = "SELECT pid FROM pg_stat_activity WHERE datname='%s' ORDER BY random() LIMIT 1"
        process = self.run(ask % database)
        if process:
            os.kill(int(process), signal.SIGKILL)
            self.crashes += 1
            self._again(lambda: self._call("pg_isready", "-h", self.of(self.primary)))

    @staticmethod
    def _again(step):
        """Until the children of a server that was killed have gone, it does not start again, and its folder changes."""
        for _ in range(200):
            with contextlib.suppress(subprocess.CalledProcessError):
                return step()
            time.sleep(0.05)
        return step()

    def follow(self, name):
        """Makes a standby of it, from the primary, and has the primary wait for it from then on."""
        def copy():
            shutil.rmtree(self.data(name), ignore_errors=True)
            self._call("pg_basebackup", "-h", self.of(self.primary), "-U", "postgres", "-D", self.data(name), "-c", "fast", "-R", "-X",
                       "stream", "--no-sync")

        self._again(copy)
        self._again(lambda: self.start(name))

    def restart(self):
        """Kills the primary, and starts it again."""
        self.kill(self.primary)
        self._again(lambda: self.start(self.primary))

    def promote(self):
        """Kills the primary; the standby takes its place, and gets a standby of its own."""
        self.kill(self.primary)
        self._call("pg_ctl", "-D", self.data(self.standby), "-w", "promote")
        self.primary = self.standby
        self.promotions += 1
        self.follow(self.standby)

    def cut_off(self):
        """The standby gets nothing more."""
        self.run("ALTER SYSTEM SET primary_conninfo=''", at=self.standby)
        self.run("SELECT pg_reload_conf()", at=self.standby)
        while self.run("SELECT count(*) FROM pg_stat_replication") != "0":
            time.sleep(0.02)

    def run(self, sql, database="postgres", at=None):
        return subprocess.run([os.path.join(daemons_test.BIN, "psql"), "-h", self.of(at or self.primary), "-U", "postgres", "-Atqc", sql,
                               database], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()

    def database(self, name):
        self.run("CREATE DATABASE " + name)
        return "postgres://postgres@/%s?host=%s,%s&target_session_attrs=read-write" % (name, self.of("a"), self.of("b"))


class Agents:
    """Two daemons on databases of the cluster, an application at each, and what is enqueued for them."""

    def __init__(self, options, folder, cluster, stack):
        import ackbox
        import kill_test
        import stage

        self.pair = stage.Pair(options.program, folder, outbox={"request_timeout": "1s", "ack_timeout": "1s"})
        self.names = ["%s_%d" % (daemon.name, os.getpid()) for daemon in self.pair.daemons]
        for daemon, name in zip(self.pair.daemons, self.names):
            daemon.file = cluster.database(name)
        stack.enter_context(self.pair)
        script = os.path.join(options.source, "tests", "clients", "kill_application.py")
        environment = {**os.environ, "PYTHONPATH": os.path.join(options.source, "clients", "python")}
        self.applications = [kill_test.Application("at-" + daemon.name, folder, [sys.executable, script, daemon.url, None, "*"], environment)
                             for daemon in self.pair.daemons]
        for application in self.applications:
            application.start()
            stack.callback(application.close)
        self.clients = [ackbox.Client(daemon.url, retry_for=stage.PATIENCE_SECONDS) for daemon in self.pair.daemons]
        self.feeders = [kill_test.Feeder(self.clients[1], "alice", self.applications[0]),
                        kill_test.Feeder(self.clients[0], "bob", self.applications[1])]


def check_synchronous(options, folder, stack):
    import kill_test

    cluster = Cluster(stack, "*")
    agents = Agents(options, folder, cluster, stack)
    chance = random.Random(options.seed)
    victims = {victim.name: victim for victim in agents.applications + agents.pair.daemons}
    for feeder in agents.feeders:
        feeder.start()
    disturber = kill_test.Disturber(victims, chance)
    for _ in range(options.promotions):
        disturber.run(options.kills, options.pauses, lambda: any(feeder.error for feeder in agents.feeders))
        for name in agents.names:
            daemons_test.Connections(cluster, name).end()
        time.sleep(chance.uniform(0, 0.5))
        cluster.crash(chance.choice(agents.names))
        time.sleep(chance.uniform(0, 0.5))
        cluster.restart()
        time.sleep(chance.uniform(0, 1))
        cluster.promote()
    last = time.monotonic()
    for feeder in agents.feeders:
        feeder.stop()
    print(", ".join("%s %d" % entry for entry in sorted(disturber.done.items())))
    print("crashes %d, postmasters killed %d, standbys promoted %d" % (cluster.crashes, cluster.kills, cluster.promotions))
    options.drained_within = float("inf")
    problems = kill_test.drain(options, agents.pair, agents.clients, agents.feeders, last)
    for feeder in agents.feeders:
        feeder.application.end()
        problems += feeder.judge()
    problems += check_log(folder, cluster.promotions)
    for daemon in agents.pair.daemons:
        found = subprocess.run([options.program, "verify", daemon.file], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if found.returncode != 0:
            problems.append("verify of %s: %s" % (daemon.name, found.stdout))
    print("effects: %s; enqueues whose answer was lost: %d" % (
        ", ".join("%s %d" % (feeder.application.name, feeder.expected()) for feeder in agents.feeders),
        sum(feeder.duplicates for feeder in agents.feeders)))
    return problems


def check_loss(options, folder, stack):
    """Alice's messages are delivered, and her database then lacks them; the messages that she gives their numbers to must not
    pass for them."""
    import stage

    cluster = Cluster(stack)
    other = daemons_test.Server(stack)
    agents = Agents(options, folder, cluster, stack)
    alice, bob = agents.pair.daemons
    # Bob loses nothing.
    bob.end()
    bob.file = other.database(agents.names[1] + "_other", stack)
    bob.start()
    client, feeder = agents.clients[0], agents.feeders[1]
    session = feeder.application.name + "-a"
    for _ in range(10):
        feeder.feed(session)
    stage.wait_until(lambda: feeder.application.effect_count() == 10, "the first messages take effect")
    time.sleep(1)
    cluster.cut_off()
    for _ in range(5):
        feeder.feed(session)
    stage.wait_until(lambda: feeder.application.effect_count() == 15, "messages take effect that the standby lacks")
    cluster.kill(cluster.primary)
    cluster._call("pg_ctl", "-D", cluster.data(cluster.standby), "-w", "promote")
    cluster.primary = cluster.standby
    # Others now get their numbers: 11 to 13.
    ids = [client.enqueue("bob", "for." + feeder.application.name, {"n": 1000 + n}, session=session).id for n in range(3)]

    def peer():
        shown = subprocess.run([options.program, "peers", alice.file, "--json"], stdout=subprocess.PIPE, text=True).stdout
        return json.loads(shown.splitlines()[0])

    stage.wait_until(lambda: peer()["state"] != "up" or all(client.message(one)["state"] == "acked" for one in ids),
                     "the sender notices, or takes its new messages for delivered")
    states = [client.message(one)["state"] for one in ids]
    shown = peer()
    print("after the loss: %s, the peer is %s: %s" % (states, shown["state"], shown["last_error"]))
    problems = [] if shown["state"] == "held" and "acked" not in states else ["the loss is not noticed"]
    problems += check_log(folder, 1)
    return problems or check_way_out(options, alice, client, ids, feeder.application)


def check_way_out(options, alice, client, ids, application):
    """A new identity ends the hold: what waits is delivered, each once."""
    import stage

    def renew():
        return subprocess.run([options.program, "restore", alice.file, alice.file, "--identity", "new"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)

    if renew().returncode == 0:
        return ["a database that an agent has open gets a new identity"]
    alice.end()
    renewed = renew()
    if renewed.returncode != 0:
        return ["restore --identity new: " + renewed.stderr]
    alice.start()
    stage.wait_until(lambda: all(client.message(one)["state"] in ("acked", "gone") for one in ids), "the new store's messages are delivered")
    stage.wait_until(lambda: application.effect_count() >= 18, "they take effect")
    return [] if application.effect_count() == 18 else ["%d took effect, and not 18" % application.effect_count()]


def check_log(folder, promotions):
    """Each change of the server is in the log of one of the database's processes: the records lead from the first server to
    the last. A process that connects after two promotions sees one change, and one that is killed as it tells leaves the
    report to the next."""
    with open(os.path.join(folder, "alice.log"), encoding="utf-8") as log:
        found = re.findall(r" server-changed .*former=\S*?/([0-9A-F]{8}).*present=\S*?/([0-9A-F]{8})", log.read())
    changes = [(int(former, 16), int(present, 16)) for former, present in found]
    print("changes of the server in the log: %s" % ", ".join("%d to %d" % change for change in changes))
    at = 1
    for former, present in changes:
        if present == at:
            continue  # Told again: the first process that told it ended before it could commit.
        if former != at:
            return ["the log does not say that timeline %d became %d" % (at, former)]
        at = present
    return [] if at == promotions + 1 else ["the log ends at timeline %d of %d" % (at, promotions + 1)]


def main():
    parser = argparse.ArgumentParser()
    scale = float(os.environ.get("ACKBOX_TEST_SCALE", "1"))
    parser.add_argument("program")
    parser.add_argument("source")
    parser.add_argument("--promotions", type=int, default=max(1, int(3 * scale)))
    parser.add_argument("--kills", type=int, default=6)
    parser.add_argument("--pauses", type=int, default=3)
    parser.add_argument("--seed", type=int, default=int(os.environ.get("ACKBOX_TEST_SEED", time.time_ns() % 1000000)))
    parser.add_argument("--only-loss", action="store_true")
    options = parser.parse_args()
    print("seed %d, %d promotions" % (options.seed, options.promotions), flush=True)
    for part in ("tests/clients", "clients/python"):
        sys.path.insert(0, os.path.join(options.source, part))
    problems = []
    for check in [check_loss] if options.only_loss else [check_loss, check_synchronous]:
        with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
            found = check(options, folder, stack)
            for name in ("alice", "bob") if found else ():
                with open(os.path.join(folder, name + ".log"), errors="replace") as log:
                    print("---- the end of %s\n%s" % (name, log.read()[-3000:]))
        problems += found
    for problem in problems:
        print("FAILED: " + problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
