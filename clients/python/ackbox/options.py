"""What an application gives that is misspelt or of a wrong type is refused before anything happens."""

from __future__ import annotations

import datetime
import difflib
from typing import Any, Collection, Dict, Tuple

_TEXT = (str,)
_INSTANT = (datetime.datetime, str)
_MILLISECONDS = (int,)

# What a message may have; `data` is any JSON.
MESSAGE: Dict[str, Tuple[type, ...]] = {
    "peer": _TEXT,
    "type": _TEXT,
    "data": (object,),
    "session": _TEXT,
    "idempotency_key": _TEXT,
    "not_before": _INSTANT,
    "not_before_ms": _MILLISECONDS,
    "expires_at": _INSTANT,
    "expires_at_ms": _MILLISECONDS,
    "priority": (int,),
    "supersede_key": _TEXT,
    "correlation_id": _TEXT,
    "traceparent": _TEXT,
    "message_id": _TEXT,
    "id": _TEXT,
}


def check_name(name: Any, known: Collection[str], what: str) -> None:
    """Raises TypeError for a name that is not among `known`, with the one that may be meant."""
    if name in known:
        return
    close = difflib.get_close_matches(str(name), known, 1)
    hint = "did you mean %r?" % close[0] if close else "it has " + ", ".join(known)
    raise TypeError("%s has no option %r: %s" % (what, name, hint))


def check_type(name: str, value: Any, *types: type) -> None:
    """Raises TypeError for a value of another type; a bool is no number. The value is not shown."""
    if isinstance(value, bool) and int in types or not isinstance(value, types):
        wanted = " or ".join(one.__name__ for one in types)
        raise TypeError("%s must be %s, not %s" % (name, wanted, type(value).__name__))


def check_message(message: Dict[Any, Any], what: str) -> None:
    """Raises TypeError for a member that a message has not, or of a wrong type. None is the same as absent."""
    for name, value in message.items():
        check_name(name, MESSAGE, what)
        if value is not None and name != "data":
            check_type(name, value, *MESSAGE[name])
