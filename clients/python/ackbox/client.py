"""What an application asks the daemon for."""

from __future__ import annotations

import collections.abc
import json
import ssl
import threading
import time
import urllib.parse
import uuid
import weakref
from typing import Any, Callable, Dict, Generator, Iterable, List, Mapping, NamedTuple, Optional, Union

from .connection import Answer, Connections
from .errors import AckboxError, NotFound, Unreachable, is_passing, problem_error, wished_pause
from .handlers import Handlers, Router
from .options import check_message, check_type
from .stream import Frame, Receiver, ack_all, pause_seconds, work_on
from .times import Seconds, instant_text, seconds
from .values import DATA_DEPTH_MAX, from_json, to_json

_WAIT_MOST_SECONDS = 30.0


class Enqueued(NamedTuple):
    """What became of a message. `status` is `stored` or `duplicate`; of one of many also why it was refused."""

    status: str
    id: str
    # Its number in its session; 0: it is outside any.
    sequence: int
    detail: str

    @property
    def is_accepted(self) -> bool:
        return self.status in ("stored", "duplicate")


def _enqueued(raw: Dict[str, Any]) -> Enqueued:
    return Enqueued(raw["status"], raw.get("message_id", ""), raw.get("sequence", 0), raw.get("detail", ""))


def _json(message: Dict[str, Any], *root: "str | int") -> str:
    return to_json(message, DATA_DEPTH_MAX + 1, *root)


class Client:
    """A daemon at `url`: `unix:/run/agent/ackbox.sock`, `http://127.0.0.1:7070` or `https://…`.

    `retry_for`: how long an operation is tried again while the daemon is away, its file is busy, its queue or its disk
    is full. `timeout`: of one request. Both are seconds or a `timedelta`, as each duration of this package. `tls`: of
    https, default the system's authorities.

    Thread-safe. A process that was forked needs a client of its own.
    """

    def __init__(
        self,
        url: str,
        token: Optional[str] = None,
        *,
        retry_for: Seconds = 60.0,
        timeout: Seconds = 30.0,
        tls: Optional[ssl.SSLContext] = None,
    ) -> None:
        check_type("url", url, str)
        if token is not None:
            check_type("token", token, str)
        self._connections = Connections(url, token, tls)
        self._retry_for = seconds(retry_for, "retry_for")
        self._timeout = seconds(timeout, "timeout")
        self._closed = threading.Event()
        self._receivers: "weakref.WeakSet[Receiver]" = weakref.WeakSet()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends each `receive`, also one of another thread, and closes the connections."""
        self._closed.set()
        for receiver in list(self._receivers):
            receiver.stop()
        self._connections.close()

    def enqueue(
        self,
        peer: str,
        type: str,
        data: Any = None,
        *,
        session: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        **options: Any,
    ) -> Enqueued:
        """Stores a message; it is durable when this returns. Raises `ProblemError` if it was refused, and `Unreachable`
        if the daemon did not answer for `retry_for`; then it may be stored. Raises TypeError or ValueError, and nothing
        is sent, where JSON cannot hold `data`, and for an option that is misspelt or of a wrong type.

        Without `session` the message goes to the session `default`, in its order; with `""` it has none. Without
        `idempotency_key` one is made, so that what is tried again is stored once. A caller that calls again, as after a crash, must bring its own. `options`: `not_before`,
        `expires_at`, `priority`, `supersede_key`, `correlation_id`, `traceparent`, `message_id`, as the daemon has them.
        `not_before` and `expires_at` are a `datetime` with a zone, or text such as `2026-01-31T23:59:59.999Z`.
        """
        check_type("peer", peer, str)
        check_type("type", type, str)
        message = {"peer": peer, "session": session, "type": type, "data": data, "idempotency_key": idempotency_key}
        message.update(options)
        keyed = self._keyed(message, "enqueue")
        return _enqueued(json.loads(self._post_messages(_json(keyed).encode()).body))

    def enqueue_many(self, messages: Iterable[Mapping[str, Any]]) -> List[Enqueued]:
        """Stores up to 10,000 messages (and 8 MiB) in one request: dictionaries with what `enqueue` takes. Returns what
        became of each, in order; some may be refused while others are stored."""
        texts = []
        for index, message in enumerate(messages):
            what = "messages[%d]" % index
            check_type(what, message, collections.abc.Mapping)
            texts.append(_json(self._keyed(message, what), "messages", index))
        body = ("[" + ",".join(texts) + "]").encode()
        return [_enqueued(raw) for raw in json.loads(self._post_messages(body).body)["results"]]

    def message(self, id: str, wait: Optional[Seconds] = None) -> Dict[str, Any]:
        """Where a message stands. With `wait`, returns when it is acknowledged (`state` is `acked`) or a dead
        letter (`failed`, `reason`), or after that time. `result` is what the peer answered, if that came during the
        wait: it is not stored. Raises `NotFound`."""
        check_type("id", id, str)
        path = "/v1/messages/" + urllib.parse.quote(id, safe="", errors="replace")
        wait_seconds = 0.0 if wait is None else seconds(wait, "wait")
        end = time.monotonic() + wait_seconds

        def target() -> str:
            # What is tried again, as where too many wait, waits for what is left.
            left = min(max(end - time.monotonic(), 0.0), _WAIT_MOST_SECONDS)
            return path if wait is None else "%s?wait=%dms" % (path, round(left * 1000))

        timeout = self._timeout + min(wait_seconds, _WAIT_MOST_SECONDS)
        while True:
            shown: Dict[str, Any] = from_json(self._ask("GET", target, None, timeout).body)
            if shown["state"] in ("acked", "failed", "gone") or time.monotonic() >= end:
                return shown

    def stats(self) -> Dict[str, Any]:
        """Gauges and totals."""
        stats: Dict[str, Any] = json.loads(self._ask("GET", "/v1/stats", None, self._timeout).body)
        return stats

    def peers(self) -> List[Dict[str, Any]]:
        """Each peer, as `GET /v1/peers` has it."""
        peers: List[Dict[str, Any]] = json.loads(self._ask("GET", "/v1/peers", None, self._timeout).body)["peers"]
        return peers

    def add_peer(self, name: str, definition: Mapping[str, Any]) -> bool:
        """Adds a peer to the daemon's file, or changes one that was added: `definition` has the fields of an entry of `peers`
        in the configuration, without `name`. Returns whether it is new. Raises `Invalid`."""
        check_type("definition", definition, collections.abc.Mapping)
        return bool(self._operate("PUT", "/v1/peers/", name, dict(definition))["added"])

    def remove_peer(self, name: str, *, fail_messages: bool = False) -> Dict[str, Any]:
        """Removes a peer that was added. Raises `Conflict`, and removes nothing, while messages to it are not settled; with
        `fail_messages` they become dead letters. Call it again while the answer's `left` is not 0: those are in flight."""
        check_type("fail_messages", fail_messages, bool)
        return self._operate("DELETE", "/v1/peers/", name, None, "?messages=fail" if fail_messages else "")

    def subscriptions(self) -> List[Dict[str, Any]]:
        """Who gets what is published, as `GET /v1/subscriptions` has it."""
        answer = self._ask("GET", "/v1/subscriptions", None, self._timeout)
        subscriptions: List[Dict[str, Any]] = json.loads(answer.body)["subscriptions"]
        return subscriptions

    def subscribe(self, name: str, peer: str, *, type: str = "*", session: str = "") -> bool:
        """Makes or changes the subscription `name`: the peer gets what is published from now on, of this type and
        session, each exact or a beginning with `*`. Returns whether it is new. Raises `Invalid`, as for an unknown peer."""
        for field, text in (("peer", peer), ("type", type), ("session", session)):
            check_type(field, text, str)
        subscription = {"peer": peer, "type": type, "session": session}
        return bool(self._operate("PUT", "/v1/subscriptions/", name, subscription)["added"])

    def unsubscribe(self, name: str) -> bool:
        """Ends a subscription; what is stored stays. Returns whether there was one."""
        try:
            self._operate("DELETE", "/v1/subscriptions/", name, None)
        except NotFound:
            return False
        return True

    def _operate(
        self, method: str, path: str, name: str, value: Optional[Dict[str, Any]], query: str = ""
    ) -> Dict[str, Any]:
        check_type("name", name, str)
        target = path + urllib.parse.quote(name, safe="", errors="replace") + query
        body = None if value is None else _json(value).encode()
        answer: Dict[str, Any] = json.loads(self._ask(method, target, body, self._timeout).body)
        return answer

    def receive(
        self,
        types: Optional[str] = None,
        sessions: Optional[str] = None,
        window: int = 64,
        mailbox: Optional[str] = None,
    ) -> Generator[Frame, None, None]:
        """Inbound frames, for ever: of the `types` and `sessions` that are named exactly or by a beginning with `*`.

        With `mailbox`, frames from the mailbox of that agent at the daemon; a token with the role `mailbox` needs no name.
        At most `window` frames are held at a time; settle each. Those of a session come one after the other. While the
        daemon is away, it is asked again. A loop that is left ends the stream, and what it has not settled is given
        out again. Raises `ProblemError` if the daemon refuses, as for a token without the role `receive`.
        """
        return self._receiver(types, sessions, window, mailbox).frames()

    def _receiver(
        self, types: Optional[str], sessions: Optional[str], window: int, mailbox: Optional[str]
    ) -> Receiver:
        check_type("window", window, int)
        query: Dict[str, Union[str, int]] = {"window": window}
        for name, pattern in (("types", types), ("sessions", sessions), ("mailbox", mailbox)):
            if pattern is not None:
                check_type(name, pattern, str)
                query[name] = pattern
        receiver = Receiver(self._connections, "/v1/inbox/stream?" + urllib.parse.urlencode(query))
        self._receivers.add(receiver)
        if self._closed.is_set():
            receiver.stop()
        return receiver

    def run(
        self,
        handlers: Handlers,
        *,
        types: Optional[str] = None,
        sessions: Optional[str] = None,
        window: int = 64,
        mailbox: Optional[str] = None,
    ) -> None:
        """Calls a handler for each inbound frame, one after the other, until `close` of another thread.

        `handlers` is a function, or a dictionary of them by type, with `"*"` for all other types. A handler gets the frame
        and settles it. Settled by `retry` are: a frame whose handler raised, with the exception as the reason, which is
        logged; one that its handler left unsettled; and one of a type that has no handler. The last two are a warning, once
        for each type. Raises what `receive` does, and what a handler raised where its frame cannot be settled.
        """
        router = Router(handlers, may_wait=False)
        frames = self.receive(types, sessions, window, mailbox)
        try:
            for frame in frames:
                work_on(frame, router)
        finally:
            # Now, and not when the iterator is collected: what is held is in play again.
            frames.close()

    def ack_many(self, frames: Iterable[Frame], results: Optional[Iterable[Any]] = None) -> List[bool]:
        """Acknowledges frames of this client's `receive` in one request, or one for each 1,024 of them and 4 MiB of results.
        `results` has the result of each, or None. Returns what `Frame.ack` returns, of each in order.

        Raises TypeError or ValueError, and settles none, where JSON cannot hold a result, or where there are not as many
        results as frames.
        """
        held = list(frames)
        given = [None] * len(held) if results is None else list(results)
        if len(given) != len(held):
            raise ValueError("there are %d frames and %d results: give one for each frame" % (len(held), len(given)))
        return ack_all(self._connections, held, given, self._closed)

    @staticmethod
    def _keyed(message: Mapping[str, Any], what: str) -> Dict[str, Any]:
        keyed = dict(message)
        check_message(keyed, what)
        for name in [name for name in ("not_before", "expires_at") if name in keyed]:
            keyed[name] = instant_text(keyed[name], name)
        # The daemon distinguishes null from absent.
        for name in [name for name, value in keyed.items() if value is None and name != "data"]:
            del keyed[name]
        if "message_id" not in keyed and "id" not in keyed:
            keyed.setdefault("idempotency_key", uuid.uuid4().hex)
        return keyed

    def _post_messages(self, body: bytes) -> Answer:
        return self._ask("POST", "/v1/messages", body, self._timeout)

    def _ask(
        self, method: str, target: Union[str, Callable[[], str]], body: Optional[bytes], timeout: float
    ) -> Answer:
        """The answer of a request that may be repeated: it is, while that may help. `target` may be made for each try."""
        end = time.monotonic() + self._retry_for
        failures = 0
        while True:
            if self._closed.is_set():
                raise AckboxError("the client was closed")
            try:
                now = target if isinstance(target, str) else target()
                answer = self._connections.request(method, now, body, timeout)
                if answer.status < 400:
                    return answer
                error: AckboxError = problem_error(answer.status, answer.body, answer.retry_after)
            except Unreachable as unreachable:
                error = unreachable
            pause = max(pause_seconds(failures), wished_pause(error))
            if not is_passing(error) or time.monotonic() + pause > end:
                raise error
            if isinstance(error, Unreachable):
                self._connections.warn_once(error)
            failures += 1
            self._closed.wait(pause)
