"""Copies the tree, plants the sites of a draw in the copy, and builds it; sites that do not compile are left out."""

import os
import pathlib
import re
import subprocess

import draw

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = re.compile(r"tests/(unit|store_conformance|simulation|fault|integration|hostile)/")
NO_PROGRAMS = re.compile(r"tests/(unit/(architecture|cli)|hostile/campaign)/")
PLACE = re.compile(r"(?P<file>[^\s:]+):(?P<line>\d+):(?P<column>\d+):\s+(?P<what>.*)")
NAMED = re.compile(draw.SWITCH + r"\((\d+)\)")
NEAR = 12  # columns from what the compiler points at, the sign of a sum, to the question behind it
SWITCH_FOLDER = "tests/mutation/campaign"
FLAGS = "-O1 -g0 -D_GLIBCXX_ASSERTIONS"


class Trouble(Exception):
    """The campaign cannot go on; the text says why."""


def listed_files(root):
    done = subprocess.run(["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others",
                           "--exclude-standard"], cwd=root, capture_output=True, check=False)
    names = sorted(set(done.stdout.decode().split("\0")) - {""}) if done.returncode == 0 else []
    if not names:
        # No checkout: all but what was built.
        folders = [path for path in root.iterdir() if path.is_dir() and not path.name.startswith(("build", "."))]
        paths = [*root.iterdir(), *(path for folder in folders for path in folder.rglob("*"))]
        names = sorted(path.relative_to(root).as_posix() for path in paths)
    return [name for name in names if (root / name).is_file()]


def write_if_new(path, content):
    """What does not change keeps its time, so that only what does is built again."""
    if path.is_file() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def named_at(line, column):
    """The number of the site of which the question stands right behind a column, which counts bytes; or None."""
    found = NAMED.search(line.encode().decode("latin-1"), column - 1, column - 1 + NEAR + len(draw.SWITCH) + 8)
    return int(found[1]) if found and found.start() - (column - 1) <= NEAR else None


class Build:
    def __init__(self, root, work, jobs, options, chosen_programs):
        self.root = root
        self.tree = work / "tree"
        self.folder = work / "build"
        self.log = work / "build.log"
        self.jobs = jobs
        self.options = options
        self.chosen_programs = re.compile(chosen_programs)

    def copy(self, planted):
        """The tree as it stands, with these sites; what the tree has no more goes."""
        by_file = {}
        for site in planted:
            by_file.setdefault(site.file, []).append(site)
        names = listed_files(self.root)
        for name in names:
            content = (self.root / name).read_bytes()
            if name in by_file:
                content = draw.instrument(content.decode("utf-8"), by_file[name]).encode("utf-8")
            if name == "src/CMakeLists.txt":
                content += f"\ntarget_sources(ackbox PRIVATE {self.tree}/{SWITCH_FOLDER}/switch.cpp)\n".encode()
            write_if_new(self.tree / name, content)
            mode = (self.root / name).stat().st_mode
            if mode & 0o100:
                (self.tree / name).chmod(mode & 0o777)
        switch = {f"{SWITCH_FOLDER}/{name}" for name in ("switch.hpp", "switch.cpp")}
        for name in switch:
            write_if_new(self.tree / name, (HERE / pathlib.Path(name).name).read_bytes())
        kept = set(names) | switch
        for path in self.tree.rglob("*"):
            if path.is_file() and path.relative_to(self.tree).as_posix() not in kept:
                path.unlink()

    def configure(self):
        switch = f"-include {self.tree}/{SWITCH_FOLDER}/switch.hpp"
        self.run(["cmake", "-G", "Ninja", "-S", str(self.tree), "-B", str(self.folder),
                  "-DCMAKE_BUILD_TYPE=RelWithDebInfo", f"-DCMAKE_CXX_FLAGS_RELWITHDEBINFO={FLAGS}",
                  f"-DCMAKE_CXX_FLAGS={os.environ.get('CXXFLAGS', '')} -w {switch}",
                  "-DACKBOX_WARNINGS_AS_ERRORS=OFF", "-DACKBOX_BUILD_EXAMPLES=OFF", "-DACKBOX_UNITY_BUILD=OFF",
                  *self.options], "configure")

    def run(self, command, what):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        with open(self.log, "ab") as log:
            log.write(done.stdout)
        if done.returncode != 0:
            raise Trouble(f"cannot {what}:\n" + done.stdout.decode(errors="replace")[-4000:])
        return done.stdout.decode(errors="replace")

    def programs(self):
        """The test programs, relative to the build: what CMake links below the folders of such."""
        listed = self.run(["ninja", "-C", str(self.folder), "-t", "targets", "all"], "list the targets")
        linked = [line.split(":")[0] for line in listed.splitlines() if "EXECUTABLE_LINKER" in line]
        found = sorted(path for path in linked
                       if PROGRAMS.match(path) and not NO_PROGRAMS.match(path) and not path.endswith(".cmake")
                       and self.chosen_programs.search(path))
        if not found:
            raise Trouble("no test program is chosen")
        return found

    def build(self, planted, say):
        """Builds library and programs; returns the sites that compile."""
        self.log.write_bytes(b"")
        self.copy(planted)
        self.configure()
        programs = self.programs()
        for step, targets in (("library", ["ackbox"]), ("programs", programs)):
            say(f"building the {step}: see {self.log}")
            while True:
                with open(self.log, "r+b") as log:
                    begin = log.seek(0, os.SEEK_END)
                    done = subprocess.run(["ninja", "-C", str(self.folder), f"-j{self.jobs}", "-k0", *targets],
                                          stdout=log, stderr=subprocess.STDOUT, check=False)
                if done.returncode == 0:
                    break
                output = self.log.read_bytes()[begin:].decode(errors="replace")
                guilty = self.guilty(output, planted)
                if not guilty:
                    raise Trouble(f"the {step} cannot be built, and no planted defect is the reason: see {self.log}\n"
                                  + output[-4000:])
                for site in guilty:
                    say(f"left out, does not compile: {site.file}:{site.line} {site.kind}: {site.original} => "
                        f"{site.changed}")
                planted = [site for site in planted if site not in guilty]
                self.copy(planted)
        return programs, planted

    def guilty(self, output, planted):
        """The sites right behind what the compiler faults; failing these, those in such a line, or in such a file."""
        errors = set()
        mentioned = set()
        named = set()
        for found in PLACE.finditer(output):
            try:
                file = (self.folder / found["file"]).resolve().relative_to(self.tree).as_posix()
            except ValueError:
                continue
            place = (file, int(found["line"]))
            if not found["what"].startswith(("error", "fatal")):
                mentioned.add(place)
                continue
            errors.add(place)
            lines = (self.tree / file).read_text(encoding="utf-8").split("\n")
            named.add(named_at(lines[place[1] - 1], int(found["column"])))
        hit = [site for site in planted if site.number in named]
        if hit:
            return hit
        for places in (errors, mentioned):
            hit = [site for site in planted
                   if any(site.file == file and site.line <= line <= site.last_line for file, line in places)]
            if hit:
                return hit
        return [site for site in planted if any(site.file == file for file, _ in errors | mentioned)]
