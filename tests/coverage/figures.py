"""Adds up what the test programs have counted of each line of src, see run."""

import collections
import pathlib
import subprocess
import sys
import tempfile

SHOWN = 25
FOLDERS = ["base", "protocol", "delivery", "sqlite", "store", "transport", "manager", "cli", "serve", "testing"]


def counts_of(note, reader):
    """What one compilation has counted, in gcov's lines for programs, which it writes to a file where it is called."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([reader, "gcov", "-i", "-m", str(note)], cwd=folder, capture_output=True, text=True,
                              check=False)
        written = list(pathlib.Path(folder).glob("*.gcov"))
        if done.returncode != 0 or not written:
            sys.exit(f"{reader} cannot read {note}: {done.stderr}")
        return written[0].read_text(encoding="utf-8", errors="replace").splitlines()


def read_counts(source_dir, work, reader):
    """By source: how often each line that holds code ran, and the names of the functions that begin on a line."""
    lines = collections.defaultdict(collections.Counter)
    functions = collections.defaultdict(dict)
    notes = sorted(work.rglob("*.gcno"))
    if not notes:
        sys.exit(f"{work} has nothing that was compiled to count")
    for note in notes:
        file = None
        for line in counts_of(note, reader):
            kind, _, rest = line.partition(":")
            if kind == "file":
                path = (work / rest).resolve()
                file = path.relative_to(source_dir).as_posix() if path.is_relative_to(source_dir) else None
                file = file if file and file.startswith(("src/", "include/")) else None
            elif file and kind == "lcount":
                number, count = rest.split(",")[:2]
                lines[file][int(number)] += int(count)
            elif file and kind == "function":
                number, _, name = rest.split(",", 2)
                functions[file].setdefault(int(number), name)
    return lines, functions


def percent(run, of):
    return f"{100 * run / of:.1f} %" if of else "-"


def folder_of(file):
    return file.split("/")[1] if file.startswith("src/") else "include"


def missing_by_function(lines, functions):
    """Lines that did not run, by the function that begins at or above them: (missing, of, file, line, name)."""
    for file, counts in lines.items():
        starts = sorted(functions[file])
        for start, following in zip(starts, starts[1:] + [sys.maxsize]):
            own = [count for line, count in counts.items() if start <= line < following]
            missing = sum(1 for count in own if count == 0)
            if missing:
                yield missing, len(own), file, start, functions[file][start]


def table_of_folders(lines):
    table = ["| folder | lines | run | |", "|---|---|---|---|"]
    totals = collections.defaultdict(lambda: [0, 0])
    for file, counts in lines.items():
        for key in (folder_of(file), "all"):
            totals[key][0] += len(counts)
            totals[key][1] += sum(1 for count in counts.values() if count > 0)
    for folder in [*FOLDERS, *sorted(set(totals) - set(FOLDERS) - {"all"}), "all"]:
        of, run = totals[folder]
        table.append(f"| {folder} | {of:,} | {run:,} | {percent(run, of)} |")
    return table


def main():
    source_dir, work = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
    lines, functions = read_counts(source_dir, work, sys.argv[3])
    table = table_of_folders(lines)
    (work / "figures.md").write_text("\n".join(table) + "\n", encoding="utf-8")
    with (work / "uncovered.txt").open("w", encoding="utf-8") as out:
        for file in sorted(lines):
            text = (source_dir / file).read_text(encoding="utf-8").splitlines()
            for number in sorted(number for number, count in lines[file].items() if count == 0):
                out.write(f"{file}:{number}: {text[number - 1].strip() if number <= len(text) else ''}\n")
    print("\n".join(table))
    print("\nThe files with most lines that nothing ran:")
    missing = sorted(((sum(1 for count in counts.values() if count == 0), len(counts), file)
                      for file, counts in lines.items()), reverse=True)
    for count, of, file in missing[:SHOWN]:
        print(f"{count:6} of {of:4}  {file}")
    print("\nThe functions with most lines that nothing ran:")
    for count, of, file, line, name in sorted(missing_by_function(lines, functions), reverse=True)[:SHOWN]:
        print(f"{count:6} of {of:4}  {file}:{line} {name}")


if __name__ == "__main__":
    main()
