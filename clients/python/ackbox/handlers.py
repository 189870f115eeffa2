"""Which handler works on a message, and the warning of one that has no handler, or that its handler left unsettled."""

from __future__ import annotations

import inspect
import logging
from typing import Any, Callable, Dict, Mapping, Optional, Set, Union

from .event import Event
from .options import check_type

_LOG = logging.getLogger("ackbox")
# Types are of the senders' choice: no more of them are remembered.
_WARNED_TYPES_MOST = 1_000
OTHERS = "*"

Handler = Callable[[Any], Any]
# One for all, or by type, with "*" for all other types.
Handlers = Union[Handler, Mapping[str, Handler]]
UNSETTLED = "the handler returned without settling the message"


class Router:
    """Pure: it settles nothing. Of one thread."""

    def __init__(self, handlers: Handlers, may_wait: bool) -> None:
        """`may_wait`: handlers may be coroutine functions. Raises TypeError or ValueError for what are no handlers."""
        if not callable(handlers):
            check_type("handlers", handlers, Mapping)
        self._handlers: Dict[str, Handler] = {OTHERS: handlers} if callable(handlers) else dict(handlers)
        if not self._handlers:
            raise ValueError("handlers is empty: give a function for each type, or for \"*\"")
        for type, handler in self._handlers.items():
            check_type("a type in handlers", type, str)
            if type != OTHERS and type.endswith(OTHERS):
                raise ValueError("handlers has %r, but its types are exact: use \"*\" for all others, and frame.type" % type)
            if not callable(handler):
                raise TypeError("the handler of %r is no function" % type)
            if not may_wait and inspect.iscoroutinefunction(handler):
                raise TypeError("the handler of %r is a coroutine function: use ackbox.aio.Client, or a plain one" % type)
        self._warned: Set[str] = set()

    def handler(self, event: Event) -> Optional[Handler]:
        return self._handlers.get(event.type) or self._handlers.get(OTHERS)

    def no_handler(self, event: Event) -> str:
        """The reason of the retry; warns once for each type."""
        reason = 'no handler for type "%s"' % event.type
        self._warn_once(event, reason + ": its messages are retried until their sender gives them up; add one, or one for \"*\"")
        return reason

    def unsettled(self, event: Event) -> str:
        """The reason of the retry; warns once for each type."""
        self._warn_once(event, "the handler of %r returned without settling %r: it is retried; call ack, retry, reject or "
                        "release in each case" % (event.type, event))
        return UNSETTLED

    def failed(self, event: Event) -> None:
        """Logs the exception that is being handled."""
        _LOG.exception("the handler of %r failed on %r", event.type, event)

    def _warn_once(self, event: Event, text: str) -> None:
        if event.type not in self._warned and len(self._warned) < _WARNED_TYPES_MOST:
            self._warned.add(event.type)
            _LOG.warning("%s", text)
