"""Inbound frames from the pull stream, and what became of them."""

from __future__ import annotations

import http.client
import json
import random
import socket
import threading
from typing import Any, Callable, Dict, Iterator, Optional

from .connection import BROKEN, Connections
from .errors import ProblemError, Unreachable, is_passing, problem_error, wished_pause
from .event import Event

# The daemon sends an empty line at least every 10 s.
_SILENCE_SECONDS = 30.0
_SETTLE_SECONDS = 60.0
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

    def start(self) -> None:
        self._connections.send(self._connection, "GET", self._target, None)
        self._socket = self._connection.sock
        self.response = self._connection.getresponse()
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
    """

    def __init__(self, raw: Dict[str, Any], receipt: str, run: int, settle: Callable[[Dict[str, Any]], bool]) -> None:
        super().__init__(raw)
        self.run = run
        self._receipt = receipt
        self._settle = settle

    def ack(self, result: Any = None) -> bool:
        """It is done. `result` is JSON, of at most 64 KiB: the sender gets it as the answer."""
        return self._end("ack", result=result)

    def retry(self, reason: str = "", after: Optional[float] = None) -> bool:
        """Not now: it comes again after so many seconds, or after the daemon's backoff. A run is charged."""
        return self._end("retry", reason=reason or None, after=None if after is None else "%dms" % round(after * 1000))

    def reject(self, reason: str) -> bool:
        """Never: the sender gets a dead letter with this reason."""
        return self._end("reject", reason=reason)

    def release(self) -> bool:
        """It was not worked on: it is given out again at once, and nothing is charged."""
        return self._end("release")

    def _end(self, outcome: str, **members: Any) -> bool:
        settlement = {"receipt": self._receipt, "outcome": outcome}
        settlement.update((name, value) for name, value in members.items() if value is not None)
        return self._settle(settlement)


class Receiver:
    """Frames of one stream after the other, until it is stopped."""

    def __init__(self, connections: Connections, target: str) -> None:
        self._connections = connections
        self._target = target
        self._stopped = threading.Event()
        self._lease: Optional[_Lease] = None

    def stop(self) -> None:
        """From any thread: ends the iteration."""
        self._stopped.set()
        lease = self._lease
        if lease is not None:
            lease.end()

    def frames(self) -> Iterator[Frame]:
        failures = 0
        while not self._stopped.is_set():
            lease = self._lease = _Lease(self._connections, self._target)
            line, wish = b"", 0.0
            try:
                try:
                    lease.start()
                    line = lease.read_line()
                except ProblemError as refusal:
                    if not is_passing(refusal):
                        raise
                    wish = wished_pause(refusal)
                except BROKEN:
                    pass  # It is away.
                # Half a line is the end of a stream, and no frame.
                while line.endswith(b"\n") and not self._stopped.is_set():
                    failures = 0
                    if line.strip():
                        yield self._frame(line, lease)
                    line = lease.read_line()
            finally:
                # Also when the caller leaves its loop: what it has not settled is in play again at once.
                self._lease = None
                lease.close()
            failures += 1
            self._stopped.wait(max(pause_seconds(failures - 1), wish))

    def _frame(self, line: bytes, lease: _Lease) -> Frame:
        given = json.loads(line)

        def settle(settlement: Dict[str, Any]) -> bool:
            return self._settle(settlement, lease)

        return Frame(given["event"], given["receipt"], given.get("run", 1), settle)

    def _settle(self, settlement: Dict[str, Any], lease: _Lease) -> bool:
        body = json.dumps({"settlements": [settlement]}, separators=(",", ":"), ensure_ascii=False).encode()
        failures = 0
        while True:
            wish = 0.0
            try:
                answer = self._connections.request("POST", "/v1/inbox/settle", body, _SETTLE_SECONDS)
                if answer.status < 400:
                    return bool(json.loads(answer.body)["results"][0]["status"] == "settled")
                error = problem_error(answer.status, answer.body, answer.retry_after)
                if not is_passing(error):
                    raise error
                wish = wished_pause(error)
            except Unreachable:
                pass
            failures += 1
            if failures == 4:
                # The frame must not stay held by a stream whose settlements do not arrive.
                lease.end()
                return False
            self._stopped.wait(max(pause_seconds(failures), wish))

