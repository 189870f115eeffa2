"""Runs test programs with one planted defect at a time, and says which of them tell."""

import dataclasses
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

MEMORY_KIB = 8 * 1024 * 1024  # of address space, for a defect that allocates without end
SIMULATION = {"simulation": ["--worlds", "8", "--base", "mutation", "--until-broken"],
              "simulation_accidents": ["--worlds", "6", "--accidents", "--base", "mutation", "--until-broken"]}
RANKS = ("unit", "store_conformance", "simulation", "integration", "fault", "hostile")


@dataclasses.dataclass
class Program:
    name: str
    path: str
    arguments: list
    seconds: float = 0.0
    is_sound: bool = True
    reached: frozenset = frozenset()

    def is_doctest(self):
        return self.name not in SIMULATION

    def cost_for(self, file):
        """What it sorts by: units first, those of the file's own folder above all, and the quick before the slow."""
        folders = set(file.split("/")[1:-1])
        is_own = bool(folders & set(self.path.split("/")[2:-1]))
        return RANKS.index(self.path.split("/")[1]), self.seconds * (0.2 if is_own else 1)


@dataclasses.dataclass
class Outcome:
    how: str  # "passed", "failed", "crashed" or "hung"
    seconds: float
    case: str
    output: str


def files_of(program):
    """The source files of a doctest program's cases; of any other program none."""
    listed = subprocess.run([program, "--list-test-cases", "--reporters=xml"], capture_output=True, text=True)
    return sorted(set(re.findall(r'<TestCase [^>]*filename="[^"]*?([^"/]+)"', listed.stdout)))


def programs_of(build, paths):
    """What runs by itself: the simulation's forms, and of a program with several files of tests each file."""
    found = []
    for path in paths:
        name = pathlib.PurePosixPath(path).name
        options = ["--abort-after=1", "--no-colors=1"]
        if path.split("/")[1] == "simulation":
            found.extend(Program(harness, path, arguments) for harness, arguments in SIMULATION.items())
            continue
        files = files_of(pathlib.Path(build) / path)
        if len(files) < 2:
            found.append(Program(name, path, options))
        for file in files if len(files) > 1 else []:
            found.append(Program(f"{name}:{file.removesuffix('.cpp')}", path, [*options, f"--source-file=*/{file}"]))
    return found


class Judge:
    def __init__(self, build, work, patience):
        self.build = pathlib.Path(build)
        self.patience = patience
        self.folder = pathlib.Path(work) / "run"
        self.folder.mkdir(parents=True, exist_ok=True)

    def timeout(self, program):
        return self.patience + 8 * program.seconds

    def run(self, program, timeout, *, mutant=None, cover=None, case=None):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("ACKBOX_")}
        if mutant is not None:
            environment["ACKBOX_MUTANT"] = str(mutant)
        if cover is not None:
            environment["ACKBOX_MUTANT_COVER"] = str(cover)
        arguments = list(program.arguments)
        if case:
            # What has a meaning in a pattern, such as a comma: a question mark fits any letter.
            arguments.append("--test-case=" + re.sub(r"[,\\*]", "?", case))
        scratch = tempfile.mkdtemp(dir=self.folder)
        os.chmod(scratch, 0o755)  # as /tmp: some tests look at their files as another user
        environment["TMPDIR"] = scratch
        begin = time.monotonic()
        with open(os.path.join(scratch, "output"), "w+b") as output:
            process = subprocess.Popen(
                ["sh", "-c", f'ulimit -c 0; ulimit -v {MEMORY_KIB}; exec "$@"', "sh", str(self.build / program.path),
                 *arguments], cwd=scratch, env=environment, stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, start_new_session=True)
            try:
                status = process.wait(timeout)
            except subprocess.TimeoutExpired:
                status = None
            seconds = time.monotonic() - begin
            try:
                os.killpg(process.pid, signal.SIGKILL)  # with what it started
            except ProcessLookupError:
                pass
            process.wait()
            output.seek(0, os.SEEK_END)
            output.seek(max(0, output.tell() - 200_000))
            text = output.read().decode(errors="replace")
        shutil.rmtree(scratch, ignore_errors=True)
        if status is None:
            how = "hung"
        elif status == 0:
            how = "passed"
        else:
            how = "failed" if 0 < status < 128 and "SIG" not in text else "crashed"
        return Outcome(how, seconds, self.case_of(text), text)

    @staticmethod
    def case_of(text):
        cases = re.findall(r"^TEST CASE: +(.*(?:\n {2,}\S.*)?)", text, re.MULTILINE)
        if cases:
            return " ".join(cases[0].splitlines()[0].split())
        broken = re.findall(r"^ +((?:P\d+|liveness): .*)", text, re.MULTILINE)
        return broken[0][:100] if broken else ""

    def measure(self, program, say):
        """Once without a defect: whether it passes, how long it takes, and which sites it reaches."""
        cover = self.folder / f"{program.name}.cover"
        cover.unlink(missing_ok=True)
        outcome = self.run(program, 900, cover=cover)
        program.seconds = round(outcome.seconds, 2)
        program.is_sound = outcome.how == "passed"
        if cover.exists():
            program.reached = frozenset(site for site, byte in enumerate(cover.read_bytes()) if byte)
            cover.unlink()
        if not program.is_sound:
            say(f"left out, {outcome.how} without a defect: {program.name} {outcome.case}\n{outcome.output[-1500:]}")

    def judge(self, site, programs):
        """The verdict on a defect: a dict for the file of results."""
        begin = time.monotonic()
        reaching = sorted((program for program in programs if program.is_sound and site.number in program.reached),
                          key=lambda program: program.cost_for(site.file))
        verdict = {"verdict": "survived" if reaching else "not reached", "by": "", "how": "", "case": "", "ran": 0,
                   "reached_by": [program.name for program in reaching]}
        for program in reaching:
            timeout = self.timeout(program)
            verdict["ran"] += 1
            outcome = self.run(program, timeout, mutant=site.number)
            if outcome.how == "passed":
                continue
            if not self.is_steady(program, timeout, site, outcome):
                verdict.setdefault("unsteady", []).append(f"{program.name}: {outcome.case}")
                continue
            verdict.update(verdict="caught", by=program.name, how=outcome.how, case=outcome.case)
            break
        verdict["seconds"] = round(time.monotonic() - begin, 2)
        return verdict

    def is_steady(self, program, timeout, site, outcome):
        """Whether it is the defect that the program tells of: what a busy machine makes fail does not fail again."""
        if outcome.how == "hung":
            return True
        if program.is_doctest() and outcome.case:
            again = self.run(program, timeout, mutant=site.number, case=outcome.case)
            # A pattern that fits no case passes, too: then the whole of it decides.
            if again.how != "passed":
                return True
        return self.run(program, timeout, mutant=site.number).how != "passed"
