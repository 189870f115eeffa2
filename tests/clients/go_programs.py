"""Go programs of the tests, built where Go is installed. No module is downloaded."""

import os
import shutil
import subprocess

LEFT_OUT = "left out: the Go application, as `go` 1.19 or newer is not installed"


def is_installed():
    return shutil.which("go") is not None


def environment():
    return {**os.environ, "GOFLAGS": "-mod=mod -ldflags=-w", "GOPROXY": "off", "GOTOOLCHAIN": "local", "GO111MODULE": "on"}


def build(package, source, folder):
    """The program of a package below tests/clients/go; None: Go is not installed."""
    if not is_installed():
        return None
    program = os.path.join(folder, "go_" + package)
    subprocess.run(["go", "build", "-o", program, "./" + package], check=True, env=environment(),
                   cwd=os.path.join(source, "tests", "clients", "go"))
    return program
