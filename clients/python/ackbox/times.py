"""Instants and durations as the types of `datetime`."""

from __future__ import annotations

import datetime
from typing import Any, Union

# A number is seconds.
Seconds = Union[float, datetime.timedelta]


def seconds(duration: Seconds) -> float:
    return duration.total_seconds() if isinstance(duration, datetime.timedelta) else duration


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
