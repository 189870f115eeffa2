"""What Python can hold and JSON cannot is refused before anything happens; what JSON can hold is carried exactly."""

from __future__ import annotations

import json
import math
import re
from typing import Any, List, Union

# Depths of nesting that the daemon takes, of data and of a result; and the bytes of a result.
DATA_DEPTH_MAX = 62
RESULT_DEPTH_MAX = 59
_RESULT_BYTES_MAX = 64 * 1024
# What the daemon keeps of a reason.
_REASON_BYTES_MAX = 1_000
# More bits than this may be more digits than Python writes.
_BITS_SURE = 2_000
_HALF_PAIR = re.compile("[\ud800-\udfff]")
_NAME = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_PATH_LETTERS_MAX = 300

# Names of members and indexes, from the outside to the value.
_Path = List[Union[str, int]]


def _shown(path: _Path) -> str:
    text = ""
    for part in path:
        if isinstance(part, int):
            text += "[%d]" % part
        elif _NAME.fullmatch(part):
            text += "." + part if text else part
        else:
            text += "[%s]" % json.dumps(part)
    return text if len(text) <= _PATH_LETTERS_MAX else text[:_PATH_LETTERS_MAX] + "…"


def _check_text(text: str, path: _Path) -> None:
    if not text.isascii() and _HALF_PAIR.search(text):
        raise ValueError("%s has half a surrogate pair, which is no character: decode the text by its encoding, or replace "
                         "it by text.encode('utf-8', 'replace').decode()" % _shown(path))


def _check_number(value: "int | float", path: _Path) -> None:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError("%s is %r, which JSON cannot hold: send None or a text" % (_shown(path), value))
    elif value.bit_length() > _BITS_SURE:
        try:
            int.__repr__(value)
        except ValueError:
            raise ValueError("%s has more digits than Python writes: send a text" % _shown(path)) from None


def _check_container(value: Any, left: int, path: _Path) -> None:
    if left == 0:
        raise ValueError("%s is nested too deep, or contains itself" % _shown(path))
    is_object = isinstance(value, dict)
    for part, one in value.items() if is_object else enumerate(value):
        if is_object:
            if not isinstance(part, str):
                raise TypeError("%s has the key %r: keys of JSON are text" % (_shown(path) or "it", part))
            _check_text(part, path)
        path.append(part)
        _check(one, left - 1, path)
        path.pop()


def _check(value: Any, left: int, path: _Path) -> None:
    if isinstance(value, str):
        _check_text(value, path)
    elif isinstance(value, (dict, list, tuple)):
        _check_container(value, left, path)
    elif isinstance(value, (int, float)):
        _check_number(value, path)
    elif value is not None:
        raise TypeError("%s is a %s, which JSON cannot hold: send a text or a number" % (_shown(path), type(value).__name__))


def to_json(value: Any, depth_max: int, *root: "str | int") -> str:
    """JSON without spaces, which UTF-8 can hold. Raises TypeError or ValueError with what is wrong, and where: `root` is
    the path of `value` itself."""
    _check(value, depth_max, list(root))
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def result_to_json(result: Any) -> str:
    """As `to_json`, of what a sender can get as a result."""
    text = to_json(result, RESULT_DEPTH_MAX, "result")
    if len(text.encode()) > _RESULT_BYTES_MAX:
        raise ValueError("the result is larger than 64 KiB: put it where the sender can fetch it")
    return text


def printable(text: str) -> str:
    """A reason that can be sent, whatever it was made of: as much of it as the daemon keeps."""
    return text[:_REASON_BYTES_MAX].encode("utf-8", "replace")[:_REASON_BYTES_MAX].decode("utf-8", "ignore")


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
