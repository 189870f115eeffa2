"""A page of the documentation as a test runs it: its fenced blocks, with the test's programs, ports and files in them."""

import os
import re
import socket
import subprocess
import textwrap

import stage


def blocks(path, languages):
    """The blocks of the page, in order. Their languages must be these: a new block needs a place in its test."""
    with open(path, encoding="utf-8") as file:
        # In a list they are indented.
        found = [(language, textwrap.dedent(text)) for _, language, text in
                 re.findall(r"^( *)```(\w*)\n(.*?)^ *```$", file.read(), re.MULTILINE | re.DOTALL)]
    if [language for language, _ in found] != languages:
        raise AssertionError("%s has blocks of %s: run each in tests/migration" % (path, [one for one, _ in found]))
    return [text for _, text in found]


def free_ports():
    """The first of the ports of `ackbox init` with two agents."""
    while True:
        first = stage.free_port()
        try:
            for port in (first, first + 1, first + 10, first + 11):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", port))
            return first
        except OSError:
            continue


class Shell:
    """Runs blocks in a folder, with the program on the path."""

    def __init__(self, program, folder, environment=None):
        self.folder = folder
        self.environment = {**os.environ, **(environment or {})}
        self.environment["PATH"] = os.path.dirname(program) + os.pathsep + self.environment["PATH"]

    def run(self, text, status=0):
        """What the block prints."""
        done = subprocess.run(["bash", "-uc", text], cwd=self.folder, env=self.environment, capture_output=True,
                              text=True, stdin=subprocess.DEVNULL, timeout=120)
        if done.returncode != status:
            raise AssertionError("%r ended with %d: %s%s" % (text, done.returncode, done.stdout, done.stderr))
        return done.stdout + done.stderr

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)


class Serving:
    """`ackbox serve` as a block has it."""

    def __init__(self, shell, command):
        self._process = subprocess.Popen(command.split(), cwd=shell.folder, env=shell.environment,
                                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        if not self._process.stdout.readline().startswith(b"listening on"):
            self.close()
            raise AssertionError("it does not start: " + command)

    def close(self):
        self._process.terminate()
        self._process.stdout.read()
        self._process.wait()
        self._process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def token(folder, name):
    with open(os.path.join(folder, name + ".tokens"), encoding="utf-8") as file:
        return next(line.split()[2] for line in file if line.startswith("app "))


class Narrow:
    """A program whose output is read slowly: it cannot get far ahead of the reader, and is killed in the middle."""

    def __init__(self, command, shell, stdin=subprocess.DEVNULL):
        self._output, output = os.pipe()
        # F_SETPIPE_SZ: the least that Linux has.
        import fcntl
        fcntl.fcntl(output, 1031, 4096)
        self._process = subprocess.Popen(command, cwd=shell.folder, env=shell.environment, stdin=stdin, stdout=output)
        os.close(output)

    def kill_after(self, byte_count):
        """Kills the program when it has written so much. Fails if it ended before."""
        left = byte_count
        while left > 0:
            part = os.read(self._output, min(left, 1024))
            if not part:
                break
            left -= len(part)
        self._process.kill()
        status = self._process.wait()
        os.close(self._output)
        if status != -9:
            raise AssertionError("the program ended by itself, with %d" % status)
