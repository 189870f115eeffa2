"""The queues that are measured: what Debian calls them, how each is started, and what an acknowledged publish survives."""

import dataclasses
import glob
import os
import pwd
import shutil
import subprocess
from pathlib import Path
from typing import Callable, Optional

HOST = "127.0.0.1"


@dataclasses.dataclass(frozen=True)
class Queue:
    name: str
    title: str
    # What a message survives once its producer was told that it is taken; `run` holds it against the syncs counted.
    survives: str
    note: str
    packages: tuple
    # The client among those that CMakeLists.txt builds, and its --variant.
    client: str
    variant: str
    # (folder, port) -> the server's command; makes in the folder what the server needs.
    command: Callable
    # (port) -> a command that succeeds when the server is ready; None: it is when it accepts connections.
    ready: Optional[Callable] = None
    # The user that the server runs as when root starts it; None: root.
    user: Optional[str] = None


def as_user(user, command):
    """`command`, run as `user` if root asks; it ends when its starter does."""
    change = ["--reuid", user, "--regid", user, "--clear-groups"] if user and os.geteuid() == 0 else []
    return ["setpriv", "--pdeathsig", "TERM", *change, "--", *command]


def _redis(folder, port):
    return ["redis-server", "--bind", HOST, "--port", str(port), "--dir", str(folder), "--save", "",
            "--appendonly", "yes", "--appendfsync", "always", "--daemonize", "no"]


def _nats(folder, port):
    settings = folder / "nats.conf"
    settings.write_text(f'host: "{HOST}"\nport: {port}\njetstream {{ store_dir: "{folder}" }}\n')
    return ["nats-server", "-c", str(settings)]


def _mosquitto(folder, port):
    settings = folder / "mosquitto.conf"
    lines = [f"listener {port} {HOST}", "allow_anonymous true", "set_tcp_nodelay true",
             # No queue may be cut short; the receiver may have a window of messages on their way to it.
             "max_queued_messages 0", "max_inflight_messages 1000",
             # A snapshot of the whole store every second: the shortest interval.
             "persistence true", f"persistence_location {folder}/", "autosave_interval 1", "log_type error",
             f"user {pwd.getpwuid(os.geteuid()).pw_name}"]
    settings.write_text("\n".join(lines) + "\n")
    return ["mosquitto", "-c", str(settings)]


def _postgresql_program(name):
    found = sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"), key=lambda path: int(path.split("/")[4]))
    if not found:
        raise RuntimeError(f"PostgreSQL's {name} is not installed")
    return found[-1]


def _postgresql(folder, port):
    data = folder / "data"
    data.mkdir()
    if os.geteuid() == 0:
        shutil.chown(data, "postgres", "postgres")
    # Without syncs of its own making; the server's are untouched.
    making = [_postgresql_program("initdb"), "--pgdata", str(data), "--auth=trust", "--username=postgres",
              "--encoding=UTF8", "--locale=C", "--no-sync"]
    subprocess.run(as_user("postgres", making), check=True, stdout=subprocess.DEVNULL, cwd="/")
    options = {"port": port, "listen_addresses": HOST, "unix_socket_directories": "", "fsync": "on",
               "synchronous_commit": "on"}
    return [_postgresql_program("postgres"), "-D", str(data),
            *(word for name, value in options.items() for word in ("-c", f"{name}={value}"))]


def _postgresql_ready(port):
    return [_postgresql_program("pg_isready"), "-q", "-h", HOST, "-p", str(port)]


POWER_CUT = "power cut"
PROCESS_CRASH = "process crash"
NOTHING = "nothing"

_NATS = ("nats-server", "libnats-dev")

QUEUES = (
    Queue("mosquitto", "mosquitto, Paho C++, QoS 1", NOTHING,
          "the broker answers from memory and writes a snapshot each second; Paho's files are never synced",
          ("mosquitto", "libpaho-mqttpp-dev", "libpaho-mqtt-dev"), "mosquitto", "", _mosquitto),
    Queue("nats", "NATS JetStream, log", PROCESS_CRASH,
          "written to the page cache; 2.9 syncs every two minutes and has no option for less",
          _NATS, "nats", "log", _nats),
    Queue("nats-work-queue", "NATS JetStream, work queue", PROCESS_CRASH,
          "as above; each message is removed when it is acknowledged",
          _NATS, "nats", "work-queue", _nats),
    Queue("redis", "Redis stream, appendfsync always", POWER_CUT,
          "the append-only file is synced before the answer",
          ("redis-server", "libhiredis-dev"), "redis", "", _redis),
    Queue("postgresql", "PostgreSQL, SKIP LOCKED relay", POWER_CUT,
          "synchronous_commit and fsync are on",
          ("postgresql", "libpq-dev"), "postgresql", "", _postgresql, _postgresql_ready, "postgres"),
)
