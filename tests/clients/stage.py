"""Two agents of tests: real `ackbox serve` processes that send to each other, and can be killed and started again."""

import base64
import json
import os
import random
import signal
import socket
import subprocess
import time

PATIENCE_SECONDS = 120.0


CLAIMS = []


def free_port():
    """Below the ports that the kernel gives to outgoing connections, so that it is still free after a kill. The UDP port of
    the same number is held until this process ends, so that a test beside it takes another one meanwhile."""
    while True:
        port = random.SystemRandom().randrange(20000, 32000)
        claim = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            claim.bind(("127.0.0.1", port))
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", port))
        except OSError:
            claim.close()
            continue
        CLAIMS.append(claim)
        return port


def write_key(path):
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
        file.write("whsec_" + base64.b64encode(os.urandom(32)).decode() + "\n")


class Daemon:
    """One `ackbox serve`."""

    def __init__(self, program, folder, name, config):
        self.program = program
        self.file = os.path.join(folder, name + ".db")
        self._log = open(os.path.join(folder, name + ".log"), "ab")
        self._config = os.path.join(folder, name + ".json")
        with open(self._config, "w") as file:
            json.dump(config, file)
        self.name = name
        self.url = config["listen"] if config["listen"].startswith("unix:") else "http://" + config["listen"]
        self._process = None

    def start(self):
        end = time.monotonic() + PATIENCE_SECONDS
        while True:
            self._process = subprocess.Popen(
                [self.program, "serve", self.file, "--config", self._config],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self._log)
            line = self._process.stdout.readline()
            if line.startswith(b"listening on"):
                return
            self._process.wait()
            self._process.stdout.close()
            if time.monotonic() > end:
                raise RuntimeError("the daemon does not start: see " + self._log.name)

    def send(self, number):
        self._process.send_signal(number)

    def end(self, number=signal.SIGKILL):
        self.send(number)
        self._process.stdout.read()
        status = self._process.wait()
        self._process.stdout.close()
        return status

    def close(self):
        if self._process is not None and self._process.poll() is None:
            self.end()
        self._log.close()


class Pair:
    """alice and bob, keys shared. `inbox` of each: what is merged into its section. `partner`: (name, port of its inbox) of
    an agent that each of the two has as its peer, instead of the other one. `outbox`: this section of both. `mailbox`: an
    agent that alice has as its peer, too, by the address of bob's inbox, and whose acknowledgements she takes from bob."""

    def __init__(self, program, folder, alice_unix=False, inbox=None, partner=None, outbox=None,
                 mailbox=None):
        ports = [free_port(), free_port()]
        self.inboxes = ["http://127.0.0.1:%d/inbox" % port for port in ports]
        self.key = os.path.join(folder, "key")
        write_key(self.key)
        self.daemons = []
        names = ["alice", "bob"]
        for index, name in enumerate(names):
            other, other_port = partner or (names[1 - index], ports[1 - index])
            listen = "unix:" + os.path.join(folder, name + ".sock") if alice_unix and index == 0 else (
                "127.0.0.1:%d" % free_port())
            config = {
                "listen": listen,
                "agent": "urn:agent:" + name,
                "peers": [{"name": other, "url": "http://127.0.0.1:%d/inbox" % other_port,
                           "agent": "urn:agent:" + other, "secrets_file": self.key}],
                "outbox": outbox or {},
                "inbox": {"listen": "127.0.0.1:%d" % ports[index], "path": "/inbox",
                          "peers": [{"agents": ["urn:agent:" + other], "secrets_file": self.key}],
                          **(inbox or {}).get(name, {"pull": ["*"]})},
            }
            if mailbox and name == "alice":
                config["peers"].append({**config["peers"][0], "name": mailbox.rpartition(":")[2], "agent": mailbox})
                config["inbox"]["peers"][0]["mailboxes"] = [mailbox]
            self.daemons.append(Daemon(program, folder, name, config))
        self.alice, self.bob = self.daemons

    def __enter__(self):
        for daemon in self.daemons:
            daemon.start()
        return self

    def __exit__(self, *_):
        for daemon in self.daemons:
            daemon.close()


def wait_until(condition, what):
    """Polls: what is waited for happens in other processes."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("in vain: " + what)
        time.sleep(0.05)
