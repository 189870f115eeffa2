"""What Python can hold and JSON cannot is refused before anything happens; what JSON can hold is carried exactly."""

from __future__ import annotations

import json
import math
import re
from typing import Any

# Depths of nesting that the daemon takes, of data and of a result; and the bytes of a result.
DATA_DEPTH_MAX = 62
RESULT_DEPTH_MAX = 59
_RESULT_BYTES_MAX = 64 * 1024
_SPLIT_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def _check(value: Any, what: str, left: int) -> None:
    if isinstance(value, (dict, list, tuple)):
        if left == 0:
            raise ValueError("%s is nested too deep, or contains itself" % what)
        if isinstance(value, dict):
            for name in value:
                if not isinstance(name, str):
                    raise TypeError("%s has the key %r: keys of JSON are text" % (what, name))
            value = value.values()
        for one in value:
            _check(one, what, left - 1)
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError("%s contains %r, which JSON cannot hold: send None or a text" % (what, value))
    elif value is not None and not isinstance(value, (str, int, float)):
        raise TypeError("%s contains a %s, which JSON cannot hold: send a text or a number" % (what, type(value).__name__))


def to_json(value: Any, what: str, depth_max: int) -> str:
    """JSON without spaces, which UTF-8 can hold. Raises TypeError or ValueError with what is wrong."""
    _check(value, what, depth_max)
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    try:
        text.encode()
        return text
    except UnicodeEncodeError:
        # Half a surrogate pair is escaped; two halves side by side would come back as one character.
        if _SPLIT_PAIR.search(text):
            raise ValueError("%s contains a character in two halves, which would arrive as one" % what) from None
        return json.dumps(value, separators=(",", ":"), allow_nan=False)


def result_to_json(result: Any) -> str:
    """As `to_json`, of what a sender can get as a result."""
    text = to_json(result, "the result", RESULT_DEPTH_MAX)
    if len(text.encode()) > _RESULT_BYTES_MAX:
        raise ValueError("the result is larger than 64 KiB: put it where the sender can fetch it")
    return text


def printable(text: str) -> str:
    """A reason that can be sent, whatever it was made of."""
    return text.encode("utf-8", "replace").decode()


def _whole(digits: str) -> Any:
    try:
        return int(digits)
    except ValueError:
        return float(digits)  # More digits than Python reads: infinite, as 1e400 is.


def from_json(text: "str | bytes") -> Any:
    """Raises ValueError, of what is not JSON only."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deep") from None
    except json.JSONDecodeError:
        raise
    except ValueError:
        return json.loads(text, parse_int=_whole)
