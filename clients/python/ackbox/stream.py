"""Inbound frames from the pull stream, and what became of them."""

from __future__ import annotations

import http.client
import json
import logging
import random
import socket
import threading
from types import TracebackType
from typing import Any, Callable, Dict, Generator, List, Optional, Type

from .connection import BROKEN, Connections
from .errors import ProblemError, Unreachable, is_passing, problem_error, wished_pause
from .event import Event
from .handlers import Router
from .options import check_type
from .times import Seconds, seconds
from .values import from_json, printable, result_to_json

_LOG = logging.getLogger("ackbox")

# The daemon sends an empty line at least every 10 s.
_SILENCE_SECONDS = 30.0
# Empty lines, with nothing between them, after which a frame that is not settled is worth a warning.
_SILENT_LINES = 3
_SETTLE_SECONDS = 60.0
_SETTLE_TRIES = 4
# Of one request: what the daemon takes, and less than its 8 MiB.
_SETTLEMENTS_MOST = 1_024
_SETTLEMENTS_BYTES_MOST = 4 * 1024 * 1024
_PAUSE_FIRST_SECONDS = 0.05
_PAUSE_MOST_SECONDS = 5.0


def pause_seconds(failures: int) -> float:
    """How long to wait after so many failures in a row: doubling, and drawn, so that clients do not come together."""
    longest = min(_PAUSE_FIRST_SECONDS * 2.0 ** min(failures, 16), _PAUSE_MOST_SECONDS)
    return longest * random.uniform(0.5, 1.0)


class _Lease:
    """One open stream: what holds its frames."""

    def __init__(self, connections: Connections, target: str) -> None:
        self._connections = connections
        self._target = target
        self._connection = connections.open(_SILENCE_SECONDS)
        self.response: Optional[http.client.HTTPResponse] = None
        self._socket: Optional[socket.socket] = None
        # Given out and not settled, by receipt, oldest first.
        self.held: Dict[str, Frame] = {}

    def start(self) -> None:
        self._connections.send(self._connection, "GET", self._target, None)
        self._socket = self._connection.sock
        self.response = self._connection.getresponse()
        self._connections.answered()
        if self.response.status != 200:
            raise problem_error(self.response.status, self.response.read(), self.response.headers.get("Retry-After"))

    def read_line(self) -> bytes:
        """Empty, or without its end, when the stream has ended."""
        assert self.response is not None
        try:
            return self.response.readline()
        except BROKEN:
            return b""
        except (ValueError, AttributeError):
            return b""  # http.client, of a connection that another thread has shut down.

    def end(self) -> None:
        """From any thread: a thread that reads the stream is woken."""
        if self._socket is not None:
            try:
                self._socket.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self) -> None:
        self.end()
        if self.response is not None:
            self.response.close()
        self._connection.close()


class Frame(Event):
    """An event that this application holds until it settles it, or its stream ends. Each must be settled once.

    `ack`, `retry`, `reject` and `release` return whether it counted, once that is durable. False: the stream had ended
    before, and the frame is given out again, so that its effect must not happen twice (`apply`); or it had counted,
    and the answer was lost. No program needs to do anything about it.

    `with frame:` around the work on it makes an exception the reason of a `retry`, and passes it on; without, the frame
    comes again only because its stream ends, and nobody learns why.
    """

    def __init__(
        self,
        raw: Dict[str, Any],
        receipt: str,
        run: int,
        settle: Callable[[str], bool],
        lease: Optional[_Lease] = None,
    ) -> None:
        super().__init__(raw)
        self.run = run
        self._receipt = receipt
        self._settle = settle
        self._lease = lease
        self._is_settled = False

    def __enter__(self) -> "Frame":
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], _: Optional[TracebackType]
    ) -> None:
        if error is None or self._is_settled:
            return
        try:
            if isinstance(error, Exception):
                self.retry("%s: %s" % (type(error).__name__, _text_of(error)))
            else:
                self.release()  # The program is being stopped.
        except Exception as refusal:  # Any: it must not replace what the program raised.
            _LOG.warning("frame %s of %s was not settled: %s: %s", self.id, self.source, type(refusal).__name__, refusal)

    @property
    def is_settled(self) -> bool:
        """Whether `ack`, `retry`, `reject` or `release` was answered."""
        return self._is_settled

    def ack(self, result: Any = None) -> bool:
        """It is done. `result` is JSON, of at most 64 KiB: the sender gets it as the answer. What JSON cannot hold is
        refused by TypeError or ValueError, and the frame is still held; `apply` refuses it before the effect."""
        return self._end(self._acknowledgement(result))

    def retry(self, reason: str = "", after: Optional[Seconds] = None) -> bool:
        """Not now: it comes again after that time, or after the daemon's backoff. A run is charged."""
        check_type("reason", reason, str)
        return self._end(
            self._settlement(
                "retry",
                reason=json.dumps(printable(reason)) if reason else None,
                after=None if after is None else '"%dms"' % round(seconds(after, "after") * 1000),
            )
        )

    def reject(self, reason: str) -> bool:
        """Never: the sender gets a dead letter with this reason."""
        check_type("reason", reason, str)
        return self._end(self._settlement("reject", reason=json.dumps(printable(reason))))

    def release(self) -> bool:
        """It was not worked on: it is given out again at once, and nothing is charged."""
        return self._end(self._settlement("release"))

    def _acknowledgement(self, result: Any) -> str:
        return self._settlement("ack", result=None if result is None else result_to_json(result))

    def _settlement(self, outcome: str, **members: Optional[str]) -> str:
        """`members` are JSON."""
        settlement = ['"receipt":' + json.dumps(self._receipt), '"outcome":"%s"' % outcome]
        settlement.extend('"%s":%s' % (name, value) for name, value in members.items() if value is not None)
        return "{" + ",".join(settlement) + "}"

    def _end(self, settlement: str) -> bool:
        is_settled = self._settle(settlement)
        self._is_settled = True
        return is_settled


def work_on(frame: Frame, router: Router) -> None:
    """Gives the frame to its handler, and settles it if that did not. Raises what a settlement does."""
    handler = router.handler(frame)
    if handler is None:
        frame.retry(router.no_handler(frame))
        return
    try:
        with frame:
            handler(frame)
    except Exception:
        if not frame.is_settled:
            raise  # Its stream must end, which gives it out again.
        router.failed(frame)
    if not frame.is_settled:
        frame.retry(router.unsettled(frame))


def _text_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return "an exception without a text"


def _post_settlements(connections: Connections, settlements: List[str], stopped: threading.Event) -> Optional[List[bool]]:
    """Whether each counted. None: they do not arrive, and the frames must not stay held by their streams."""
    body = ('{"settlements":[%s]}' % ",".join(settlements)).encode()
    for failures in range(1, _SETTLE_TRIES + 1):
        wish = 0.0
        try:
            answer = connections.request("POST", "/v1/inbox/settle", body, _SETTLE_SECONDS)
            if answer.status < 400:
                results = json.loads(answer.body)["results"]
                return [bool(results[index]["status"] == "settled") for index in range(len(settlements))]
            error = problem_error(answer.status, answer.body, answer.retry_after)
            if not is_passing(error):
                raise error
            wish = wished_pause(error)
        except Unreachable as error:
            connections.warn_once(error)
        if failures < _SETTLE_TRIES:
            stopped.wait(max(pause_seconds(failures), wish))
    return None


def ack_all(connections: Connections, frames: List[Frame], results: List[Any], stopped: threading.Event) -> List[bool]:
    """As `Client.ack_many`."""
    settlements = [frame._acknowledgement(result) for frame, result in zip(frames, results)]
    counted: List[bool] = []
    while len(counted) < len(frames):
        begin = end = len(counted)
        size = 0
        while end < len(frames) and end - begin < _SETTLEMENTS_MOST and size < _SETTLEMENTS_BYTES_MOST:
            size += len(settlements[end].encode())
            end += 1
        settled = _post_settlements(connections, settlements[begin:end], stopped)
        for frame in frames[begin:end]:
            frame._is_settled = True
            if frame._lease is not None:
                frame._lease.held.pop(frame._receipt, None)
                if settled is None:
                    frame._lease.end()
        counted.extend([False] * (end - begin) if settled is None else settled)
    return counted


class Receiver:
    """Frames of one stream after the other, until it is stopped."""

    def __init__(self, connections: Connections, target: str) -> None:
        self._connections = connections
        self._target = target
        self._stopped = threading.Event()
        self._lease: Optional[_Lease] = None
        self._has_warned = False

    def stop(self) -> None:
        """From any thread: ends the iteration."""
        self._stopped.set()
        lease = self._lease
        if lease is not None:
            lease.end()

    def frames(self) -> Generator[Frame, None, None]:
        failures = silent_lines = 0
        while not self._stopped.is_set():
            lease = self._lease = _Lease(self._connections, self._target)
            line, wish = b"", 0.0
            try:
                try:
                    lease.start()
                    # `stop` that came before there was a socket has not ended it.
                    line = b"" if self._stopped.is_set() else lease.read_line()
                except ProblemError as refusal:
                    if not is_passing(refusal):
                        raise
                    wish = wished_pause(refusal)
                except BROKEN as error:
                    if not self._stopped.is_set():
                        self._connections.warn_once(self._connections.unreachable(error))
                # Half a line is the end of a stream, and no frame.
                while line.endswith(b"\n") and not self._stopped.is_set():
                    failures = 0
                    if line.strip():
                        silent_lines = 0
                        yield self._frame(line, lease)
                    else:
                        silent_lines += 1
                        if silent_lines == _SILENT_LINES:
                            self._warn(lease)
                    line = lease.read_line()
            finally:
                # Also when the caller leaves its loop: what it has not settled is in play again at once.
                self._lease = None
                lease.close()
            failures += 1
            self._stopped.wait(max(pause_seconds(failures - 1), wish))

    def _frame(self, line: bytes, lease: _Lease) -> Frame:
        given = from_json(line)
        receipt = given["receipt"]

        def settle(settlement: str) -> bool:
            is_settled = self._settle(settlement, lease)
            lease.held.pop(receipt, None)
            return is_settled

        frame = lease.held[receipt] = Frame(given["event"], receipt, given.get("run", 1), settle, lease)
        return frame

    def _warn(self, lease: _Lease) -> None:
        """Once: the loop waits for frames, and those that it has not settled may be why none comes."""
        held = list(lease.held.values())
        if self._has_warned or not held:
            return
        self._has_warned = True
        _LOG.warning(
            "no frame has come for a while, and %d are not settled, the oldest is %r: the next of their sessions come "
            "once they are settled by ack, retry, reject or release, and none at all while the window is full",
            len(held),
            held[0],
        )

    def _settle(self, settlement: str, lease: _Lease) -> bool:
        settled = _post_settlements(self._connections, [settlement], self._stopped)
        if settled is None:
            lease.end()
            return False
        return settled[0]
