"""Counts calls that force data to the disk, from strace's output. Only these calls are stopped (seccomp), so that the
rest runs at its own speed; no rate is taken from a traced run all the same."""

import re

CALLS = "fsync,fdatasync,msync,sync_file_range,syncfs,sync"
_SYNC = re.compile(r"^\d+\s+(?P<time>\d+\.\d+) (?:" + CALLS.replace(",", "|") + r")\((?:\d+<(?P<path>[^>]*)>)?")


def tracer(output, further_calls=""):
    """The words before a command whose syncs are to be written to the file `output`."""
    return ["strace", "-f", "-qq", "-ttt", "-y", "--seccomp-bpf", "-e", f"trace={CALLS}{further_calls}",
            "-o", str(output)]


def count(lines, receiver_file, begin_s=0.0, end_s=float("inf")):
    """How many syncs, of the receiver's file and of all others (the queue's), among strace's lines from one time of the
    wall clock to another."""
    counts = {"queue": 0, "receiver": 0}
    for line in lines:
        found = _SYNC.match(line)
        if found and begin_s <= float(found["time"]) <= end_s:
            counts["receiver" if receiver_file in (found["path"] or "") else "queue"] += 1
    return counts
