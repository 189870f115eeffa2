"""The outbox in a file of AGENIUM (npm `agenium` 0.2): what it holds, and whether a process has it open."""

from __future__ import annotations

import fcntl
import os
import sqlite3
import struct
import urllib.parse
from typing import Any, Collection, Dict, List, NamedTuple, Optional

from .values import from_json

_SCHEMA_VERSION = "1"
MOVED = "moved to ackbox"

# Where SQLite has its locks in a file; a connection in WAL mode holds one of them until it is closed.
_LOCKS_BEGIN = 0x40000000
_LOCKS_LENGTH = 512
_FLOCK = "@hhqqi0q"


class FileProblem(Exception):
    """The file is missing, is not AGENIUM's, or is of another version."""


class StillRunning(Exception):
    """A process has the file open."""


class Row(NamedTuple):
    """A message as AGENIUM keeps it."""

    id: str
    session: str
    # The name of the remote agent; None: the file does not have the session.
    remote: Optional[str]
    state: str
    attempts: int
    frame_json: str


def find(path: str) -> str:
    """The file: `path`, or `sessions.db` in this folder. Raises `FileProblem`."""
    if os.path.isdir(path):
        path = os.path.join(path, "sessions.db")
    if not os.path.isfile(path):
        raise FileProblem("%s: there is no such file; AGENIUM has ~/.agenium/NAME/sessions.db" % path)
    return path


def check_closed(path: str) -> None:
    """Raises `StillRunning` if another process has the file open in SQLite. No connection of this process may be open:
    its locks would be lost."""
    with open(path, "rb") as file:
        asked = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, _LOCKS_BEGIN, _LOCKS_LENGTH, 0)
        kind, _, _, _, process = struct.unpack(_FLOCK, fcntl.fcntl(file, fcntl.F_GETLK, asked))
    if kind != fcntl.F_UNLCK:
        raise StillRunning("process %d has %s open: stop AGENIUM first" % (process, path))


def _open(path: str, mode: str) -> sqlite3.Connection:
    db = sqlite3.connect("file:%s?mode=%s" % (urllib.parse.quote(path), mode), uri=True, isolation_level=None, timeout=5)
    try:
        version = db.execute("SELECT value FROM meta WHERE key='schema_version'").fetchone()
        db.execute("SELECT sessionId, remoteAgentName FROM sessions LIMIT 0")
        db.execute("SELECT msgId, sessionId, frameJson, status, attempts, lastError FROM outbox_messages LIMIT 0")
    except sqlite3.Error as error:
        db.close()
        raise FileProblem("%s is not a file of AGENIUM 0.2, or cannot be read: %s" % (path, error)) from None
    if version is None or version[0] != _SCHEMA_VERSION:
        db.close()
        raise FileProblem("%s has tables of version %s; this program knows version %s"
                          % (path, version and version[0], _SCHEMA_VERSION))
    return db


def counts(path: str) -> Dict[str, int]:
    """How many messages of each state the file has."""
    db = _open(path, "ro")
    try:
        return dict(db.execute("SELECT status, count(*) FROM outbox_messages GROUP BY 1 ORDER BY 1").fetchall())
    finally:
        db.close()


def read(path: str, states: Collection[str]) -> List[Row]:
    """The messages of these states, in the order in which they were enqueued. Changes nothing."""
    db = _open(path, "ro")
    try:
        marks = ",".join("?" for _ in states)
        return [Row(*values) for values in db.execute(
            "SELECT o.msgId, o.sessionId, s.remoteAgentName, o.status, o.attempts, o.frameJson FROM outbox_messages o "
            "LEFT JOIN sessions s USING (sessionId) WHERE o.status IN (%s) ORDER BY o.rowid" % marks, list(states))]
    finally:
        db.close()


def mark(path: str, rows: Collection[Row]) -> int:
    """Marks the messages as acknowledged, in one transaction: AGENIUM sends them no more. Returns how many still were in
    the state in which they were read; the others are left as they are."""
    check_closed(path)
    db = _open(path, "rw")
    try:
        db.execute("PRAGMA synchronous=FULL")
        db.execute("BEGIN IMMEDIATE")
        changed = sum(db.execute("UPDATE outbox_messages SET status='ACKED', lastError=? WHERE msgId=? AND status=?",
                                 (MOVED, row.id, row.state)).rowcount for row in rows)
        db.execute("COMMIT")
        return changed
    finally:
        db.close()


def content(frame: Any, whole_payload: bool) -> Dict[str, Any]:
    """Type and data of an ackbox message with what the frame says. Raises ValueError."""
    payload = frame.get("payload") if isinstance(frame, dict) else None
    names = {"EVENT": ("event", "data"), "REQUEST": ("method", "params")}.get(frame.get("type")) if payload else None
    if names is None or not isinstance(payload, dict):
        raise ValueError("it is neither an EVENT nor a REQUEST")
    name = payload.get(names[0])
    if not isinstance(name, str):
        raise ValueError("its payload has no %s" % names[0])
    return {"type": name, "data": payload if whole_payload else payload.get(names[1])}


def frame_of(row: Row) -> Any:
    """Raises ValueError."""
    return from_json(row.frame_json)
