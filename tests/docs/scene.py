"""Where a page's blocks are executed: a folder of their own, with ports and paths of their own in place of those shown."""

import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile

PATIENCE_SECONDS = 120


class Wrong(Exception):
    """The block does not do what the page says; the text says what is different."""


class Setting:
    """What the runner was given."""

    def __init__(self, source, program, extension, build, compiler, work):
        self.source = source
        self.program = program
        self.extension = extension
        self.build = build
        self.compiler = compiler
        self.work = work
        self.tests = os.path.join(work, "tests")
        # For what is no function of stand_ins.sh, such as `xargs ackbox`.
        os.mkdir(os.path.join(work, "bin"))
        os.symlink(program, os.path.join(work, "bin", "ackbox"))
        self._list_tests()

    def _list_tests(self):
        # From a folder of its own: this may itself be a test of that build, whose log it must leave alone.
        folder = os.path.join(self.work, "ctest")
        os.mkdir(folder)
        # The short form of tests/run has a part of the tests in each of two builds.
        sanitized = os.path.join(os.path.dirname(self.build), "dev")
        with open(os.path.join(folder, "CTestTestfile.cmake"), "w") as file:
            for build in sorted({self.build, sanitized} if os.path.exists(sanitized) else {self.build}):
                file.write('subdirs("%s")\n' % build)
        listed = subprocess.run(["ctest", "--show-only", "--test-dir", folder], check=True, capture_output=True, text=True)
        with open(self.tests, "w") as file:
            file.write("\n".join(re.findall(r"^ +Test +#\d+: (.*)$", listed.stdout, re.MULTILINE)) + "\n")

    def read(self, path):
        with open(os.path.join(self.source, path), encoding="utf-8") as file:
            return file.read()


class Scene:
    def __init__(self, setting, blocks):
        self.setting = setting
        self.blocks = blocks  # of the page
        self.folder = tempfile.mkdtemp(dir=setting.work)
        self.outputs = {}  # of each shell block, by the beginning that its rule names
        self._ports = {}
        self.environment = {
            **os.environ, "ACKBOX": setting.program, "ACKBOX_EXTENSION": setting.extension, "BUILD": setting.build,
            "INIT_PORT": str(_free_ports([0, 1, 10, 11])), "PATH": os.path.join(setting.work, "bin") + ":" + os.environ["PATH"],
            "PYTHONPATH": os.path.join(setting.source, "clients", "python"), "PYTHONDONTWRITEBYTECODE": "1",
            "SCENE": self.folder, "SOURCE": setting.source, "TESTS": setting.tests,
        }
        for name in ("run", "etc"):
            os.makedirs(self.path(name, "agent"))

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def write(self, name, text):
        with os.fdopen(os.open(self.path(name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(text)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def placed(self, text):
        """The text with this scene's ports and folders."""
        text = re.sub(r"(?<=127\.0\.0\.1:)\d+", lambda port: self._port(port.group()), text)
        text = re.sub(r"(?<![\w.])/(run|etc)/agent(?=/)", lambda name: self.path(name.group(1), "agent"), text)
        return text.replace("/usr/lib/ackbox/ackbox", self.setting.extension.removesuffix(".so"))

    def _port(self, shown):
        if shown not in self._ports:
            self._ports[shown] = str(_free_ports([0]))
        return self._ports[shown]

    def shell(self, text, at_source=False, exits=(0,)):
        """Executes the lines as a script, with the stand-ins; gives what they print."""
        script = '. "$SOURCE/tests/docs/stand_ins.sh"\n' + self.placed(text)
        return self.run(["bash", "-c", script], at_source=at_source, exits=exits)

    def run(self, command, at_source=False, exits=(0,), text=None):
        done = subprocess.run(command, cwd=self.setting.source if at_source else self.folder, env=self.environment,
                              input=text or "", capture_output=True, text=True, timeout=PATIENCE_SECONDS)
        if done.returncode not in exits:
            raise Wrong("exit status %d\n%s%s" % (done.returncode, done.stdout, done.stderr))
        return done.stdout

    def close(self):
        if os.path.exists(self.path("daemons")):
            for pid in self.read("daemons").split():
                try:
                    os.kill(int(pid), signal.SIGKILL)
                except ProcessLookupError:
                    print("%s: the daemon %s had ended by itself" % (self.blocks[0].page, pid), file=sys.stderr)


def _free_ports(offsets):
    """A port that is free with each offset, below those that the kernel gives to outgoing connections."""
    while True:
        first = random.SystemRandom().randrange(20000, 32000)
        probes = []
        try:
            for offset in offsets:
                probes.append(socket.socket())
                probes[-1].bind(("127.0.0.1", first + offset))
            return first
        except OSError:
            continue
        finally:
            for probe in probes:
                probe.close()


def require_like(shown, real):
    """What a page shows and what a program prints: equal but for instants, ports, and what the page leaves out (…)."""
    instant = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"
    port = r"127\.0\.0\.1:\d+"
    open_parts = {"…": ".*"}
    pattern = "".join(next((one for one in (instant, port) if re.fullmatch(one, part)), open_parts.get(part, re.escape(part)))
                      for part in re.split("(…|%s|%s)" % (instant, port), shown.strip()))
    if not re.search("^" + pattern + "$", real, re.MULTILINE):
        raise Wrong("shown:   %s\nprinted: %s" % (shown.strip(), real.strip()))
