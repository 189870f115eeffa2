"""Installs what is missing and builds the programs that measure."""

import contextlib
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
COMMON_PACKAGES = ("g++", "cmake", "ninja-build", "pkg-config", "strace", "libsqlitecpp-dev", "libsqlite3-dev")


def say(text):
    print(f"peers: {text}", file=sys.stderr, flush=True)


def call(command, **options):
    """Runs a command whose output nobody reads unless it fails; returns its standard output."""
    done = subprocess.run(command, text=True, capture_output=True, check=False, **options)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: {(done.stderr or done.stdout).strip()[-3000:]}")
    return done.stdout


def is_installed(package):
    asked = subprocess.run(["dpkg-query", "--show", "--showformat=${db:Status-Status}", package], text=True,
                           capture_output=True, check=False)
    return asked.stdout == "installed"


@contextlib.contextmanager
def no_services():
    """Keeps Debian's packages from starting the servers that they install."""
    policy = Path("/usr/sbin/policy-rc.d")
    if policy.exists():
        yield
        return
    policy.write_text("#!/bin/sh\nexit 101\n")
    policy.chmod(0o755)
    try:
        yield
    finally:
        policy.unlink()


def install(queues):
    wanted = {*COMMON_PACKAGES, *(package for queue in queues for package in queue.packages)}
    missing = sorted(package for package in wanted if not is_installed(package))
    if not missing:
        return
    if os.geteuid() != 0:
        raise RuntimeError(f"missing, and installing needs root: apt-get install {' '.join(missing)}")
    say(f"installing {' '.join(missing)}")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    with no_services():
        call(["apt-get", "update"], env=environment)
        call(["apt-get", "install", "--yes", "--no-install-recommends", *missing], env=environment)


def build_clients():
    say("building the clients")
    folder = ROOT / "build" / "peers"
    call(["cmake", "-G", "Ninja", "-S", HERE, "-B", folder, "-DCMAKE_BUILD_TYPE=Release"])
    call(["cmake", "--build", folder])
    return folder


def build_ackbox():
    say("building ackbox_bench (minutes, the first time; --ackbox PATH takes one that is there)")
    folder = ROOT / "build" / "release"
    call(["cmake", "-G", "Ninja", "-S", ROOT, "-B", folder, "-DCMAKE_BUILD_TYPE=Release"])
    call(["cmake", "--build", folder, "--target", "ackbox_bench"])
    return folder / "tests" / "bench" / "ackbox_bench"
