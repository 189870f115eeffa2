"""Effect once in the application's own database: the mark of a message commits together with its effect.

A daemon may give a message more than once, as after a crash between the effect and its settlement. Within a session
numbers only grow, so one row a session recognises repetitions for ever. A message outside any session is recognised by
its source and id, by a row of its own.
"""

from __future__ import annotations

import logging
import sqlite3
import sys
import time
from typing import Any, Callable, NamedTuple, Optional

from .event import Event
from .times import Seconds, seconds
from .values import from_json, result_to_json

_LOG = logging.getLogger("ackbox")

_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS ackbox_marks (source TEXT NOT NULL, origin TEXT NOT NULL, session TEXT NOT NULL, "
    "sequence BIGINT NOT NULL, result TEXT, PRIMARY KEY (source, origin, session))",
    "CREATE TABLE IF NOT EXISTS ackbox_mark_ids (source TEXT NOT NULL, id TEXT NOT NULL, applied_at_ms BIGINT NOT NULL, "
    "result TEXT, PRIMARY KEY (source, id))",
)

_MARK_SEQUENCE = (
    "INSERT INTO ackbox_marks (source, origin, session, sequence) VALUES (?, ?, ?, ?) "
    "ON CONFLICT (source, origin, session) DO UPDATE SET sequence = excluded.sequence, result = NULL "
    "WHERE excluded.sequence > ackbox_marks.sequence"
)
_KEEP_SEQUENCE_RESULT = "UPDATE ackbox_marks SET result = ? WHERE source = ? AND origin = ? AND session = ? AND sequence = ?"
_SEQUENCE_RESULT = "SELECT result FROM ackbox_marks WHERE source = ? AND origin = ? AND session = ? AND sequence = ?"

_MARK_ID = "INSERT INTO ackbox_mark_ids (source, id, applied_at_ms) VALUES (?, ?, ?) ON CONFLICT (source, id) DO NOTHING"
_KEEP_ID_RESULT = "UPDATE ackbox_mark_ids SET result = ? WHERE source = ? AND id = ?"
_ID_RESULT = "SELECT result FROM ackbox_mark_ids WHERE source = ? AND id = ?"


# Of SQLite: it goes with the transaction in which it was set, however that ends.
_SAVEPOINT = "ackbox_apply"


class Applied(NamedTuple):
    """What became of a message."""

    # False: it had taken effect before, and nothing was called.
    is_new: bool
    # What the function returned; of a duplicate, what it returned then, where that is still known.
    result: Any


def _execute(db: Any, sql: str, parameters: "tuple[Any, ...]" = ()) -> Any:
    """One statement on a cursor of its own, in the driver's way of writing parameters."""
    cursor = db.cursor()
    module = sys.modules.get(type(db).__module__.split(".")[0])
    style = getattr(module, "paramstyle", "qmark")
    if style in ("format", "pyformat"):
        sql = sql.replace("?", "%s")
    elif style != "qmark":
        raise TypeError("this driver's paramstyle, %s, is not supported" % style)
    if parameters:
        cursor.execute(sql, parameters)
    else:
        cursor.execute(sql)
    return cursor


def _begin(db: Any) -> None:
    """Opens a transaction where the driver does not by itself; there must be none."""
    if isinstance(db, sqlite3.Connection):
        if getattr(db, "autocommit", -1) is False:
            return  # Python 3.12: one is always open.
        if db.in_transaction:
            raise ValueError("apply commits: the connection must not be in a transaction")
        # The write lock is taken now: a transaction that reads first may fail later, when it wants to write.
        db.execute("BEGIN IMMEDIATE")
        return
    if getattr(db, "autocommit", False) is True:
        raise ValueError("apply needs a connection that is not in autocommit mode")
    status = getattr(getattr(db, "info", None), "transaction_status", 0)
    if int(status) != 0:
        raise ValueError("apply commits: the connection must not be in a transaction")


class _Mark:
    """The mark of one event, in a transaction of `db`."""

    def __init__(self, db: Any, event: Event) -> None:
        self._db = db
        self._event = event
        self._in_session = event.sequence != 0
        if self._in_session:
            self._key: "tuple[Any, ...]" = (event.source, event.origin, event.session, event.sequence)
        else:
            self._key = (event.source, event.id)

    def set(self) -> bool:
        """False: it was there before."""
        if self._in_session:
            cursor = _execute(self._db, _MARK_SEQUENCE, self._key)
        else:
            cursor = _execute(self._db, _MARK_ID, self._key + (int(time.time() * 1000),))
        is_new = bool(cursor.rowcount == 1)
        cursor.close()
        return is_new

    def keep(self, result: Optional[str]) -> bool:
        """False: the mark is not there."""
        cursor = _execute(self._db, _KEEP_SEQUENCE_RESULT if self._in_session else _KEEP_ID_RESULT, (result,) + self._key)
        is_there = bool(cursor.rowcount == 1)
        cursor.close()
        return is_there

    def row(self) -> Any:
        """Its result alone; None: the mark is not there, or a later one is."""
        cursor = _execute(self._db, _SEQUENCE_RESULT if self._in_session else _ID_RESULT, self._key)
        row = cursor.fetchone()
        cursor.close()
        return row


class _Call:
    """One call of the application's function in a transaction that is not its own to end."""

    def __init__(self, db: Any, event: Event, mark: _Mark) -> None:
        self._db = db
        self._event = event
        self._mark = mark

    def effect(self, fn: Callable[[Any, Event], Any]) -> Any:
        """What `fn` returned, which is kept with the mark."""
        if isinstance(self._db, sqlite3.Connection):
            self._db.execute("SAVEPOINT " + _SAVEPOINT)
        try:
            result = fn(self._db, self._event)
            text = None if result is None else result_to_json(result)
        except BaseException:
            if self._has_ended():
                self._warn_if_marked()
            raise
        if self._has_ended() or not self._mark.keep(text):
            _LOG.warning("the effect of %r ended the transaction that apply commits: a crash behind that would have lost its "
                         "result, or its mark, without which it happens again; leave commit and rollback to apply", self._event)
            if isinstance(self._db, sqlite3.Connection) and not self._db.in_transaction:
                self._db.execute("BEGIN IMMEDIATE")
            # After a rollback it is not there any more, and the effect must not happen again.
            self._mark.set()
            self._mark.keep(text)
        return result

    def _has_ended(self) -> bool:
        """Whether the transaction was ended, where the driver shows it."""
        if isinstance(self._db, sqlite3.Connection):
            try:
                self._db.execute("RELEASE " + _SAVEPOINT)
                return False
            except sqlite3.Error:
                return True
        status = getattr(getattr(self._db, "info", None), "transaction_status", None)
        return status is not None and int(status) == 0

    def _warn_if_marked(self) -> None:
        """Called while an exception is handled, which must not be replaced."""
        try:
            self._db.rollback()
            if self._mark.row() is not None:
                _LOG.warning("the effect of %r raised behind its own commit: what it committed stays, with the mark, so that a "
                             "repetition changes nothing; leave commit to apply", self._event)
        except Exception as error:
            _LOG.warning("whether the effect of %r has committed is not known: %s", self._event, error)


def create_marks(db: Any) -> None:
    """Makes the tables of the marks, unless they exist. Commits. Call it once, when the application starts."""
    for statement in _SCHEMA:
        _execute(db, statement).close()
    db.commit()


def apply(db: Any, event: Event, fn: Callable[[Any, Event], Any]) -> Applied:
    """Calls `fn(db, event)` and commits its writes with the mark of `event`; a duplicate calls nothing.

    `db` is a DB-API connection of this thread: sqlite3, psycopg, or another driver and database with ON CONFLICT. It
    must not be in a transaction. `fn` must neither commit nor roll back: one that does is a warning in the log, and not called
    again if it returns. What it raises is raised here, after a rollback: then neither effect nor mark is there.
    What it returns must be JSON or None; pass it to `Frame.ack`. What `Frame.ack` would refuse is refused here, before the commit, by TypeError or ValueError.
    """
    mark = _Mark(db, event)
    _begin(db)
    try:
        is_new = mark.set()
        if is_new:
            result = _Call(db, event, mark).effect(fn)
        else:
            row = mark.row()
            result = from_json(row[0]) if row is not None and row[0] is not None else None
        db.commit()
    except BaseException:
        db.rollback()
        raise
    return Applied(is_new, result)


def forget_ids(db: Any, older_than: Seconds = 30 * 86400.0, now: Optional[float] = None) -> int:
    """Deletes the marks of messages outside sessions that are older than `older_than`. Commits; returns how many.

    It must be longer than a sender goes on trying, which is 7 days by default (`retry.horizon`).
    """
    limit = int(((time.time() if now is None else now) - seconds(older_than, "older_than")) * 1000)
    cursor = _execute(db, "DELETE FROM ackbox_mark_ids WHERE applied_at_ms < ?", (limit,))
    count = int(cursor.rowcount)
    cursor.close()
    db.commit()
    return count
