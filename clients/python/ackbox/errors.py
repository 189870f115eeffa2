"""What can go wrong, one type for each thing that a program may want to do about it."""

from __future__ import annotations

import json
from typing import Any, Dict, Optional, Type


class AckboxError(Exception):
    """Of all of them."""


class Unreachable(AckboxError):
    """The daemon did not answer. Whether it did what it was asked for is not known."""


class SignatureInvalid(AckboxError):
    """A pushed request that is not signed with one of the keys, or too old. Answer it with 401."""


class ProblemError(AckboxError):
    """The daemon refused a request. Its text is that of the problem document (RFC 9457)."""

    def __init__(self, status: int, problem: Dict[str, Any], retry_after: Optional[float] = None) -> None:
        self.status = status
        self.problem = problem
        # Seconds, when the daemon said so.
        self.retry_after = retry_after
        self.title = str(problem.get("title", ""))
        self.detail = str(problem.get("detail", ""))
        text = ": ".join(part for part in (self.title, self.detail) if part)
        super().__init__("%d %s" % (status, text) if text else str(status))


class Unauthenticated(ProblemError):
    """401: no token, or one that the daemon does not know."""


class Forbidden(ProblemError):
    """403: the token has not the role that the operation needs."""


class NotFound(ProblemError):
    """404: no such message; or it was acknowledged and is not kept any more."""


class Conflict(ProblemError):
    """409: the idempotency key or id was used with another peer, session, type or data."""


class TooLarge(ProblemError):
    """413."""


class Invalid(ProblemError):
    """422: a field is wrong, or no peer has this name."""


class QueueFull(ProblemError):
    """429: `outbox.max_pending` or `max_pending_bytes` is reached."""


class Unavailable(ProblemError):
    """503: the file is busy, or the daemon is being stopped."""


class DiskFull(ProblemError):
    """507."""


_TYPES: Dict[int, Type[ProblemError]] = {
    401: Unauthenticated,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    413: TooLarge,
    422: Invalid,
    429: QueueFull,
    503: Unavailable,
    507: DiskFull,
}


def problem_error(status: int, body: bytes, retry_after: Optional[str]) -> ProblemError:
    """The exception for an answer with a status of 400 or more."""
    try:
        problem = json.loads(body)
    except ValueError:
        problem = None
    if not isinstance(problem, dict):
        problem = {"detail": body[:200].decode("utf-8", "replace")}
    seconds = float(retry_after) if retry_after is not None and retry_after.isdigit() else None
    return _TYPES.get(status, ProblemError)(status, problem, seconds)


# By a proxy whose daemon is away.
_GATEWAY_STATUSES = (502, 504)
_RETRY_AFTER_MOST_SECONDS = 3600.0


def is_passing(error: AckboxError) -> bool:
    """Whether the same request may succeed later."""
    if isinstance(error, ProblemError) and error.status in _GATEWAY_STATUSES:
        return True
    return isinstance(error, (Unreachable, QueueFull, Unavailable, DiskFull))


def wished_pause(error: AckboxError) -> float:
    """Seconds that the daemon asks to be left alone for, within an hour; 0: it said nothing."""
    return min(getattr(error, "retry_after", None) or 0.0, _RETRY_AFTER_MOST_SECONDS)
