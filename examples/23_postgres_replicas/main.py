"""Replicas of two agents on PostgreSQL, all killed with SIGKILL over and over; then the ledger.

    main.py BUILD [--kills N] [--seed N]

Three `ackbox serve` of alice share one database, and two of bob another one. A program of alice's enters amounts of several
accounts into a table and enqueues them for bob by `ackbox.enqueue`, in one transaction each. Two applications of bob's, one at
each replica, apply them to the balances in bob's database. In the end each entry must have taken effect once, in its account's
order, and the balances must add up. BUILD is CMake's folder; the program must have been built with PostgreSQL.
"""

import argparse
import base64
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import psycopg

import stage

HERE = os.path.dirname(os.path.abspath(__file__))
ACCOUNTS = ("rent", "food", "books", "tools")
# They last a little longer than the killing.
ENTRIES_PER_KILL = 20


class Feeder(threading.Thread):
    """Alice's program: each entry and its message commit together."""

    def __init__(self, url, entries, chance):
        super().__init__(daemon=True)
        self._url = url
        self._entries = entries
        self._chance = chance
        self.done = 0
        self.error = None

    def run(self):
        try:
            with psycopg.connect(self._url) as database:
                for number in range(1, self._entries + 1):
                    self._enter(database, self._chance.choice(ACCOUNTS), number, self._chance.randint(-100, 100))
                    self.done = number
        except psycopg.Error as error:
            self.error = error

    def _enter(self, database, account, number, amount):
        data = json.dumps({"account": account, "n": number, "amount": amount})
        with database.transaction():
            database.execute("INSERT INTO sent VALUES (%s, %s, %s)", (account, number, amount))
            database.execute("SELECT ackbox.enqueue('bob', %s, 'ledger.entry', %s)", (account, data))


class Run:
    def __init__(self, options, folder):
        self._kills = options.kills
        self._chance = random.Random(options.seed)
        self._entries = ENTRIES_PER_KILL * max(options.kills, 4)
        self._tool = os.path.join(options.build, "src", "cli", "ackbox")
        self._folder = folder
        self._processes = []
        self._server = stage.Server(tempfile.mkdtemp(dir=folder))
        self._urls = {name: self._server.url(name) for name in ("alice", "bob")}
        with psycopg.connect(self._server.url("postgres"), autocommit=True) as database:
            for name in self._urls:
                database.execute("CREATE DATABASE " + name)
        self._query("alice", "CREATE TABLE sent(account text, n integer, amount integer)")
        self._query("bob", "CREATE TABLE applied(id bigserial, account text, n integer, amount integer)")
        self._query("bob", "CREATE TABLE balances(account text PRIMARY KEY, amount integer)")
        self._make_processes()

    def _query(self, name, sql):
        with psycopg.connect(self._urls[name]) as database:
            result = database.execute(sql)
            return result.fetchall() if result.description else []

    def _make_processes(self):
        key = os.path.join(self._folder, "key")
        with open(os.open(key, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            file.write("whsec_" + base64.b64encode(os.urandom(32)).decode() + "\n")
        ports = {name: [stage.free_port() for _ in range(count)] for name, count in (("alice", 3), ("bob", 2))}
        # They live as long as this program.
        urls = {name: "http://127.0.0.1:%d/inbox" % stage.Balancer(ports[name]).port for name in ports}
        python = {"PYTHONPATH": os.path.join(HERE, "..", "..", "clients", "python")}
        for name, other in (("alice", "bob"), ("bob", "alice")):
            config = {"agent": "urn:agent:" + name, "outbox": {"request_timeout": "2s", "ack_timeout": "2s"},
                      "peers": [{"name": other, "agent": "urn:agent:" + other, "url": urls[other], "secrets_file": key}]}
            for number, port in enumerate(ports[name]):
                # To alice come acknowledgements only.
                inbox = {"listen": "127.0.0.1:%d" % port, "path": "/inbox", "pull": ["ledger.entry"] if name == "bob" else [],
                         "peers": [{"agents": ["urn:agent:" + other], "secrets_file": key}]}
                url = self._add_daemon(name, number, {**config, "inbox": inbox})
                if name == "bob":
                    self._processes.append(stage.Process(
                        "application %d" % number, self._folder,
                        [sys.executable, os.path.join(HERE, "application.py"), url, self._urls["bob"]], "ready", python))

    def _add_daemon(self, name, number, config):
        listen = "127.0.0.1:%d" % stage.free_port()
        path = os.path.join(self._folder, "%s_%d.json" % (name, number))
        with open(path, "w") as file:
            json.dump({"listen": listen, **config}, file, indent=2)
        self._processes.append(stage.Process("%s %d" % (name, number), self._folder,
                                             [self._tool, "serve", self._urls[name], "--config", path], "listening on"))
        return "http://" + listen

    def carry_out(self):
        """Returns whether the ledger is exact."""
        begun = time.monotonic()
        for process in self._processes:
            process.start()
            process.await_ready()
        feeder = Feeder(self._urls["alice"], self._entries, random.Random(self._chance.random()))
        feeder.start()
        victims = [self._processes[index % len(self._processes)] for index in range(self._kills)]
        self._chance.shuffle(victims)
        for number, victim in enumerate(victims):
            self._await_entries(feeder, number)
            victim.kill()
            time.sleep(self._chance.choice([0, self._chance.uniform(0, 0.5)]))
            victim.start()
        killed = time.monotonic()
        has_drained = self._drain(feeder)
        print("SIGKILLs: %s; %.1f s, of which %.1f s after the last one" % (
            ", ".join("%s %d" % (process.name, process.kills) for process in self._processes),
            time.monotonic() - begun, time.monotonic() - killed))
        return self._account() and has_drained

    def _await_entries(self, feeder, kills):
        """Until something has moved since the kill before."""
        end = time.monotonic() + stage.PATIENCE_SECONDS
        wanted = min(self._entries, kills * ENTRIES_PER_KILL // 2)
        while feeder.done < wanted or self._applied() < wanted // 2:
            self._watch(feeder)
            if time.monotonic() > end:
                raise RuntimeError("nothing moves: %d entered, %d applied" % (feeder.done, self._applied()))
            time.sleep(0.05)

    def _drain(self, feeder):
        end = time.monotonic() + 2 * stage.PATIENCE_SECONDS
        while feeder.is_alive() or self._applied() < self._entries or self._is_waiting():
            self._watch(feeder)
            if time.monotonic() > end:
                return False
            time.sleep(0.2)
        return True

    def _applied(self):
        return self._query("bob", "SELECT count(*) FROM applied")[0][0]

    def _is_waiting(self):
        return any(self._stats(name)[what] for name in self._urls for what in ("pending", "sending", "sent", "inbox"))

    def _stats(self, name):
        return json.loads(subprocess.run([self._tool, "stats", self._urls[name], "--json"], check=True,
                                         stdout=subprocess.PIPE).stdout)

    def _watch(self, feeder):
        if feeder.error is not None:
            raise RuntimeError("alice's program: %s" % feeder.error)
        for process in self._processes:
            process.check()

    def _account(self):
        sent = self._query("alice", "SELECT account, n, amount FROM sent ORDER BY n")
        applied = self._query("bob", "SELECT account, n, amount FROM applied ORDER BY id")
        furthest, reordered = {}, 0
        for account, number, _ in applied:
            reordered += number < furthest.get(account, 0)
            furthest[account] = max(number, furthest.get(account, 0))
        totals = {account: 0 for account, _, _ in sent}
        for account, _, amount in sent:
            totals[account] += amount
        figures = {"sent": len(sent), "applied": len(applied), "doubled": len(applied) - len(set(applied)),
                   "lost": len(set(sent) - set(applied)), "reordered": reordered,
                   "balances that do not add up": len(set(totals.items()) ^ set(self._query("bob", "TABLE balances"))),
                   "dead letters": self._stats("alice")["failed"]}
        for figure in figures.items():
            print("%-30s%10d" % figure)
        is_exact = len(sent) == self._entries and sorted(sent) == sorted(applied) and not any(list(figures.values())[2:])
        print("The ledger balances: every entry took effect exactly once, in its account's order."
              if is_exact else "The ledger does NOT balance.")
        return is_exact

    def close(self):
        for process in self._processes:
            process.close()
        self._server.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--kills", type=int, default=28, help="SIGKILLs in total")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1000000))
    options = parser.parse_args()
    # So that what follows is undone.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    print("seed %d" % options.seed, file=sys.stderr)
    folder = tempfile.mkdtemp(prefix="ackbox_postgres.")
    os.chmod(folder, 0o755)
    is_exact = False
    try:
        run = Run(options, folder)
        try:
            is_exact = run.carry_out()
        finally:
            run.close()
    except (RuntimeError, psycopg.Error, subprocess.SubprocessError, OSError) as error:
        print("main.py: %s" % error, file=sys.stderr)
    if is_exact:
        shutil.rmtree(folder, ignore_errors=True)
    else:
        print("main.py: logs are kept in " + folder, file=sys.stderr)
    return 0 if is_exact else 1


if __name__ == "__main__":
    sys.exit(main())
