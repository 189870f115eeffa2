"""SQL functions on the application's own connection: a message is enqueued in the transaction of its rows."""

import os
import sqlite3
import sys
import sysconfig
from typing import Iterator, Optional


def _places() -> Iterator[str]:
    here = os.path.dirname(os.path.abspath(__file__))
    yield os.path.join(here, "program", "lib")
    for prefix in ("/usr/local/lib", "/usr/lib"):
        yield prefix
        yield os.path.join(prefix, str(sysconfig.get_config_var("MULTIARCH")))


def extension() -> Optional[str]:
    """The path of the extension: `ACKBOX_EXTENSION` of the environment, or the one of this package, or the system's."""
    given = os.environ.get("ACKBOX_EXTENSION")
    if given:
        return given
    found = (os.path.join(place, "ackbox", "ackbox.so") for place in _places())
    return next((path for path in found if os.path.isfile(path)), None)


def load(db: sqlite3.Connection) -> None:
    """Adds the functions `ackbox_enqueue`, `ackbox_mark` and others to `db`, and to no other connection.

    If its file is an outbox, `synchronous` becomes FULL and automatic checkpoints are off. Raises `RuntimeError` where
    the extension is missing, or this Python cannot load one; `sqlite3.OperationalError` where SQLite refuses it.
    """
    if not hasattr(db, "enable_load_extension"):
        raise RuntimeError(
            "the sqlite3 of this Python (%s) cannot load extensions, because it was built without "
            "--enable-loadable-sqlite-extensions, as pyenv builds it: use the system's Python, build this one anew with "
            "PYTHON_CONFIGURE_OPTS=--enable-loadable-sqlite-extensions, or enqueue by ackbox.Client" % sys.executable
        )
    path = extension()
    if path is None:
        raise RuntimeError(
            "ackbox.so is not found: install ackbox or its wheel for this platform, or name it in ACKBOX_EXTENSION"
        )
    db.enable_load_extension(True)
    try:
        db.load_extension(path)
    finally:
        db.enable_load_extension(False)
