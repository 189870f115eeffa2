"""Machines on a network of their own: network namespaces without a name, which the kernel removes when this process ends,
however it ends."""

import os
import shutil
import subprocess
import sys

HUB = "10.77.0.1"
# Listens on a port, and says so; connects to it.
_LISTEN = "import socket; s = socket.create_server(('', 7000)); print(flush=True); s.accept()"
_CONNECT = "import socket, sys; socket.create_connection((sys.argv[1], 7000), 0.5)"
# A connection to here begins with a packet that has SYN and no ACK.
_CLOSED = """table inet closed { chain input {
  type filter hook input priority 0; iifname uplink tcp flags & (syn|ack) == syn drop; }; }"""


def refusal():
    """Why there can be no such network here; empty: there can."""
    if os.geteuid() != 0:
        return "it needs root, because it makes network namespaces"
    missing = [name for name in ("ip", "unshare", "nsenter", "setpriv", "openssl") if shutil.which(name) is None]
    if missing:
        return "not installed: " + ", ".join(missing)
    done = subprocess.run(["unshare", "--net", "ip", "link", "add", "name", "one", "type", "veth", "peer", "name", "two"],
                          stderr=subprocess.PIPE, text=True)
    return "network namespaces are not permitted here: " + done.stderr.strip() if done.returncode else ""


class Machine:
    def __init__(self, name):
        self.name = name
        # It ends when its input does, which is with this process.
        self._holder = subprocess.Popen(["unshare", "--net", "sh", "-c", "echo; exec cat"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        self._holder.stdout.readline()
        self.ip("link set lo up")

    def command(self, *arguments):
        """That runs `arguments` there; SIGKILL ends it when this process ends."""
        return ["setpriv", "--pdeathsig", "KILL", "nsenter", "--net=/proc/%d/ns/net" % self._holder.pid, *arguments]

    def run(self, *arguments, **options):
        return subprocess.run(self.command(*arguments), check=True, **options)

    def ip(self, words):
        self.run("ip", *words.split())

    def attach(self, hub, number):
        """A line to the hub, over which nothing else is reached."""
        line, here, there = self.name, "10.77.%d.2" % number, "10.77.%d.1" % number
        hub.ip("link add name %s type veth peer name uplink netns %d" % (line, self._holder.pid))
        hub.ip("address add %s/24 dev %s" % (there, line))
        hub.ip("link set %s up" % line)
        self.ip("address add %s/24 dev uplink" % here)
        self.ip("link set uplink up")
        self.ip("route add %s/32 via %s" % (HUB, there))
        self.address = here

    def close_to_others(self):
        """Connections go out and none comes in, as behind NAT. Returns why this cannot be done; empty: it is."""
        if shutil.which("nft") is None:
            return "nft is not installed"
        done = subprocess.run(self.command("nft", _CLOSED), stderr=subprocess.PIPE, text=True)
        return done.stderr.strip().partition("\n")[0] if done.returncode else ""

    def is_reached_from(self, other):
        """Whether `other` can connect to a program that listens here."""
        listener = subprocess.Popen(self.command(sys.executable, "-c", _LISTEN), stdout=subprocess.PIPE)
        try:
            listener.stdout.readline()
            attempt = other.command(sys.executable, "-c", _CONNECT, self.address)
            return subprocess.run(attempt, stderr=subprocess.DEVNULL).returncode == 0
        finally:
            listener.kill()
            listener.communicate()

    def close(self):
        self._holder.communicate()


def build():
    """hub, alice, bob, and how the two are closed to others, in a sentence. Raises if one can be reached that must not."""
    hub, alice, bob = Machine("hub"), Machine("alice"), Machine("bob")
    hub.ip("address add %s/32 dev lo" % HUB)
    alice.attach(hub, 1)
    bob.attach(hub, 2)
    problem = alice.close_to_others() or bob.close_to_others()
    reached = [(alice, bob), (bob, alice)] + ([] if problem else [(hub, alice), (hub, bob)])
    for source, target in reached:
        if target.is_reached_from(source):
            raise RuntimeError("%s can connect to %s, as it could not behind NAT" % (source.name, target.name))
    if problem:
        return hub, alice, bob, "no route leads from one to the other, and neither listens (no filter: %s)" % problem
    return hub, alice, bob, "no route leads from one to the other, and nft drops what connects to them"
