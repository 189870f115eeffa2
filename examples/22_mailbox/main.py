"""Two agents behind NAT talk through a third machine, all killed with SIGKILL over and over; then the ledger.

    main.py BUILD [--kills N] [--seed N] [--check]

Three machines, as network namespaces: hub, where `ackbox serve` keeps two mailboxes; alice, an agent in C++ with a
`MailboxFetcher`; bob, an agent in Python beside an `ackbox serve` that fetches. Each sends numbered entries of several
accounts to the other, whom it cannot reach, and applies what it gets. In the end each entry must have taken effect once,
in its account's order, and the balances must add up. BUILD is CMake's folder. --check says whether it can be done here.
"""

import argparse
import base64
import json
import os
import random
import signal
import shutil
import subprocess
import sys
import tempfile
import time

import ledger
import network

HERE = os.path.dirname(os.path.abspath(__file__))
SKIPPED = 77
# Without an entry that moves for so long, something is wrong.
PATIENCE_SECONDS = 60
# Entries of each agent for each kill: they last a little longer than the killing.
ENTRIES_PER_KILL = 12
DAEMON = "bob's daemon"


class Stalled(RuntimeError):
    """No entry has moved for too long."""


class Process:
    """A program on a machine, which is started again after each kill."""

    def __init__(self, name, machine, folder, arguments, ready, environment=None):
        self.name = name
        self.kills = 0
        self._command = machine.command(*arguments)
        self._environment = {**os.environ, **(environment or {})}
        self._ready = ready
        self._log = os.path.join(folder, name.replace("'", "").replace(" ", "_") + ".log")
        self._process = None

    def start(self):
        with open(self._log, "ab") as log:
            self._process = subprocess.Popen(self._command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                             env=self._environment, start_new_session=True)

    def await_ready(self):
        end = time.monotonic() + PATIENCE_SECONDS
        while self._ready not in self._text():
            self.check()
            if time.monotonic() > end:
                raise RuntimeError("%s does not start; it said:\n%s" % (self.name, self._text()))
            time.sleep(0.02)

    def check(self):
        if self._process.poll() is not None:
            raise RuntimeError("%s ended by itself (status %d); it said:\n%s" % (
                self.name, self._process.returncode, self._text()[-2000:]))

    def kill(self):
        self.check()
        self._process.kill()
        self._process.wait()
        self.kills += 1

    def end(self):
        """Gracefully."""
        self.check()
        self._process.terminate()
        if self._process.wait(PATIENCE_SECONDS) not in (0, -signal.SIGTERM):
            raise RuntimeError("%s did not end well on SIGTERM (status %d); it said:\n%s" % (
                self.name, self._process.returncode, self._text()[-2000:]))

    def close(self):
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def _text(self):
        with open(self._log, errors="replace") as log:
            return log.read()


class Progress:
    """One line on standard error, rewritten in place on a terminal, otherwise one a second."""

    def __init__(self):
        self._shown_at = 0.0

    def show(self, line):
        is_terminal = sys.stderr.isatty()
        if time.monotonic() - self._shown_at < (0.1 if is_terminal else 1):
            return
        self._shown_at = time.monotonic()
        print("\r" + line + "\033[K" if is_terminal else line, end="" if is_terminal else "\n", file=sys.stderr,
              flush=True)

    def end(self):
        if sys.stderr.isatty() and self._shown_at:
            print(file=sys.stderr)


def make_secrets(folder):
    """An authority and the hub's certificate, the keys of both agents, the tokens for their mailboxes."""
    def path(name):
        return os.path.join(folder, name)

    def write(name, text):
        with open(path(name), "w") as file:
            file.write(text)

    tokens = ""
    for name in ("alice", "bob"):
        token = base64.urlsafe_b64encode(os.urandom(24)).decode()
        write(name + ".key", "whsec_" + base64.b64encode(os.urandom(32)).decode() + "\n")
        write(name + ".token", token + "\n")
        tokens += "%s mailbox=urn:agent:%s %s\n" % (name, name, token)
    write("tokens", tokens)
    certificate = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
                   "90"]
    for extra in (["-subj", "/CN=authority", "-keyout", path("ca.key"), "-out", path("ca.pem")],
                  ["-subj", "/CN=hub", "-keyout", path("hub.key"), "-out", path("hub.pem"), "-CA", path("ca.pem"),
                   "-CAkey", path("ca.key"), "-addext", "subjectAltName=IP:" + network.HUB]):
        subprocess.run(certificate + extra, check=True, stderr=subprocess.DEVNULL)


def hub_config(folder):
    tls = {"certificate_file": os.path.join(folder, "hub.pem"), "key_file": os.path.join(folder, "hub.key")}
    return {
        "listen": network.HUB + ":7070", "tls": tls, "allowed_hosts": [network.HUB],
        "tokens_file": os.path.join(folder, "tokens"),
        "agent": "urn:agent:hub",
        "inbox": {
            "listen": network.HUB + ":8090", "tls": tls,
            "peers": [{"agents": ["urn:agent:" + name], "secrets_file": os.path.join(folder, name + ".key")}
                      for name in ("alice", "bob")],
            "mailboxes": ["urn:agent:alice", "urn:agent:bob"],
        },
    }


def bob_config(folder):
    return {
        "listen": "127.0.0.1:7070",
        "agent": "urn:agent:bob",
        "sender": {"authority_file": os.path.join(folder, "ca.pem")},
        "outbox": {"ack_timeout": "1s"},
        # What is sent to the hub's inbox for the agent alice goes into alice's mailbox.
        "peers": [{"name": "alice", "agent": "urn:agent:alice", "url": "https://%s:8090/inbox" % network.HUB,
                   "secrets_file": os.path.join(folder, "bob.key")}],
        "inbox": {
            "fetch": [{"url": "https://%s:7070" % network.HUB, "token_file": os.path.join(folder, "bob.token")}],
            "peers": [{"agents": ["urn:agent:alice"], "by_mailbox": True}],
            "pull": ["ledger.entry"],
        },
    }


class Run:
    def __init__(self, options, folder):
        self._kills = options.kills
        self._chance = random.Random(options.seed)
        self._entries = ENTRIES_PER_KILL * max(options.kills, 4)
        self._tool = os.path.join(options.build, "src", "cli", "ackbox")
        self._files = {name: os.path.join(folder, name + ".db") for name in ("hub", "alice", "bob")}
        self._progress = Progress()
        self._moved, self._moved_at = None, time.monotonic()
        self._processes = self._make_processes(options.build, folder)

    def _make_processes(self, build, folder):
        make_secrets(folder)
        hub, alice, bob, closed = network.build()
        self._machines = [hub, alice, bob]
        print("alice and bob: %s" % closed, file=sys.stderr)
        configs = {}
        for name, config in (("hub", hub_config(folder)), ("bob", bob_config(folder))):
            configs[name] = os.path.join(folder, name + ".json")
            with open(configs[name], "w") as file:
                json.dump(config, file, indent=2)
        serve = {name: [self._tool, "serve", self._files[name], "--config", configs[name]] for name in configs}
        application = [sys.executable, os.path.join(HERE, "bob.py"), "http://127.0.0.1:7070", self._files["bob"],
                       str(self._entries)]
        python = {"PYTHONPATH": os.path.join(HERE, "..", "..", "clients", "python"),
                  "ACKBOX_EXTENSION": os.path.join(build, "src", "extension", "ackbox.so")}
        program = os.path.join(build, "examples", "mailbox_alice")
        return [
            Process("hub", hub, folder, serve["hub"], "listening on"),
            Process("alice", alice, folder, [program, self._files["alice"], folder, network.HUB, str(self._entries)],
                    "ready"),
            Process(DAEMON, bob, folder, serve["bob"], "listening on"),
            Process("bob", bob, folder, application, "ready", python),
        ]

    def carry_out(self):
        """Returns whether the ledger is exact."""
        begun = time.monotonic()
        for process in self._processes:
            process.start()
            process.await_ready()
        self._kill_often()
        killed = time.monotonic()
        has_drained = self._drain()
        drained = time.monotonic()
        for process in reversed(self._processes):
            process.end()
        self._progress.end()
        return self._account(has_drained, drained - begun, drained - killed)

    def _kill_often(self):
        """As many of each, in random order. A killed one is started at once, or stays away for a moment."""
        victims = [self._processes[index % len(self._processes)] for index in range(self._kills)]
        self._chance.shuffle(victims)
        for victim in victims:
            self._wait(self._chance.choice([self._chance.uniform(0, 0.2), self._chance.uniform(0.5, 1.5)]))
            victim.kill()
            if self._chance.random() < 0.5:
                time.sleep(self._chance.uniform(0, 0.4))
            victim.start()

    def _drain(self):
        """Returns whether everything has arrived; the ledger shows what has not."""
        try:
            while not self._is_done():
                self._wait(0.2)
        except Stalled as error:
            print(error, file=sys.stderr)
            return False
        return True

    def _wait(self, seconds):
        end = time.monotonic() + seconds
        while True:
            self._watch()
            left = end - time.monotonic()
            if left <= 0:
                return
            time.sleep(min(left, 0.05))

    def _watch(self):
        """Shows the progress; raises when a process ended by itself, or when nothing moves any more."""
        for process in self._processes:
            process.check()
        applied = [ledger.count(self._files[name], "applied") for name in ("bob", "alice")]
        kills = sum(process.kills for process in self._processes)
        line = "SIGKILLs %d/%d  alice -> bob %d/%d  bob -> alice %d/%d" % (
            kills, self._kills, applied[0], self._entries, applied[1], self._entries)
        self._progress.show(line)
        if (applied, kills) != self._moved:
            self._moved, self._moved_at = (applied, kills), time.monotonic()
        elif time.monotonic() - self._moved_at > PATIENCE_SECONDS:
            raise Stalled("nothing moved for %d s (%s)" % (PATIENCE_SECONDS, line))

    def _is_done(self):
        """Whether every entry has been applied, and all three machines know it."""
        if any(ledger.count(self._files[name], "applied") < self._entries for name in ("alice", "bob")):
            return False
        return not any(self._stats(name)[what] for name in self._files for what in ("pending", "sending", "sent", "inbox"))

    def _stats(self, name):
        return json.loads(subprocess.run([self._tool, "stats", self._files[name], "--json"], check=True,
                                         stdout=subprocess.PIPE).stdout)

    def _account(self, has_drained, seconds, drain_seconds):
        alice, bob = self._files["alice"], self._files["bob"]
        directions = [ledger.compare("alice -> bob", alice, bob), ledger.compare("bob -> alice", bob, alice)]
        ledger.print_table(directions)
        totals = [ledger.total(file) for file in (alice, bob)]
        wrong = [ledger.wrong_balances(file) for file in (alice, bob)]
        failed = sum(self._stats(name)["failed"] for name in self._files)
        print("\nbalances: alice %+d, bob %+d; accounts that do not add up: %d; dead letters: %d" % (
            *totals, sum(wrong), failed))
        print("SIGKILLs: %s; %.1f s, of which %.1f s after the last one" % (
            ", ".join("%s %d" % (process.name, process.kills) for process in self._processes), seconds, drain_seconds))
        is_exact = has_drained and all(ledger.is_exact(direction, self._entries) for direction in directions) and not (
            sum(totals) or any(wrong) or failed)
        print("The ledger balances: every entry took effect exactly once, in its account's order."
              if is_exact else "The ledger does NOT balance.")
        return is_exact

    def close(self):
        for process in self._processes:
            process.close()
        for machine in self._machines:
            machine.close()


def carry_out(options, folder):
    run = Run(options, folder)
    try:
        return run.carry_out()
    finally:
        run.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", nargs="?")
    parser.add_argument("--kills", type=int, default=24, help="SIGKILLs in total, about one a second")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1000000),
                        help="draws the victims and the instants; default: another one each time")
    parser.add_argument("--check", action="store_true", help="only whether network namespaces can be made here")
    options = parser.parse_args()
    refusal = network.refusal()
    if refusal:
        print("--mailbox cannot run: " + refusal, file=sys.stderr)
        return SKIPPED
    if options.check:
        return 0
    # So that what follows is undone.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    print("seed %d" % options.seed, file=sys.stderr)
    os.umask(0o077)
    folder = tempfile.mkdtemp(prefix="ackbox_mailbox.")
    is_exact = False
    try:
        is_exact = carry_out(options, folder)
    except (RuntimeError, subprocess.SubprocessError, OSError) as error:
        print("main.py: %s" % error, file=sys.stderr)
    except KeyboardInterrupt:
        print("main.py: interrupted", file=sys.stderr)
    finally:
        if is_exact:
            shutil.rmtree(folder)
        else:
            print("main.py: databases and logs are kept in " + folder, file=sys.stderr)
    return 0 if is_exact else 1


if __name__ == "__main__":
    sys.exit(main())
