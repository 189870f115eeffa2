"""Client of `ackbox serve`: a durable outbox and its inbound frames, over HTTP. The standard library only."""

from .client import Client, Enqueued
from .errors import (
    AckboxError,
    Conflict,
    DiskFull,
    Forbidden,
    Invalid,
    NotFound,
    ProblemError,
    QueueFull,
    SignatureInvalid,
    TooLarge,
    Unauthenticated,
    Unavailable,
    Unreachable,
)
from .event import Event
from .extension import load
from .marks import Applied, apply, create_marks, forget_ids
from .stream import Frame
from .webhook import verify_webhook

__version__ = "0.1.0"

__all__ = [
    "AckboxError",
    "Applied",
    "Client",
    "Conflict",
    "DiskFull",
    "Enqueued",
    "Event",
    "Forbidden",
    "Frame",
    "Invalid",
    "NotFound",
    "ProblemError",
    "QueueFull",
    "SignatureInvalid",
    "TooLarge",
    "Unauthenticated",
    "Unavailable",
    "Unreachable",
    "apply",
    "create_marks",
    "forget_ids",
    "load",
    "verify_webhook",
]
