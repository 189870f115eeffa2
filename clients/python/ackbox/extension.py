"""SQL functions on the application's own connection: a message is enqueued in the transaction of its rows."""

import os
import sqlite3
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
    path = extension()
    if path is None:
        raise RuntimeError("ackbox.so is not found: install ackbox, or name it in ACKBOX_EXTENSION")
    if not hasattr(db, "enable_load_extension"):
        raise RuntimeError("this Python was built without extensions of SQLite: Debian's can load them")
    db.enable_load_extension(True)
    try:
        db.load_extension(path)
    finally:
        db.enable_load_extension(False)
