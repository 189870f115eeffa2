"""Instants and durations as the types of `datetime`."""

from __future__ import annotations

import datetime
import math
from typing import Any, Union

from .options import check_type

# A number is seconds.
Seconds = Union[float, datetime.timedelta]


def seconds(duration: Seconds, name: str) -> float:
    """Raises TypeError or ValueError for what is no duration; `name` is what the caller calls it."""
    check_type(name, duration, int, float, datetime.timedelta)
    if isinstance(duration, datetime.timedelta):
        return duration.total_seconds()
    if math.isnan(duration):
        raise ValueError("%s is nan: give seconds or a timedelta" % name)
    return duration


def instant_text(value: Any, name: str) -> Any:
    """A `datetime` as the daemon reads it, in UTC. Any other value is returned as it is, and judged by the daemon.
    Raises ValueError for one without a zone."""
    if not isinstance(value, datetime.datetime):
        return value
    if value.utcoffset() is None:
        raise ValueError(
            "%s is %r, which has no zone: give it one, as datetime.now(timezone.utc) has, or use astimezone() for one "
            "of this machine's zone" % (name, value)
        )
    return value.astimezone(datetime.timezone.utc).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"
