"""Connections to the daemon: one URL, several connections that are used again."""

from __future__ import annotations

import http.client
import logging
import socket
import ssl
import threading
import urllib.parse
from typing import Dict, List, NamedTuple, Optional

from .errors import Unreachable

_LOG = logging.getLogger("ackbox")

# What the socket and http.client raise when a connection cannot be made, or breaks.
BROKEN = (OSError, http.client.HTTPException)


class Answer(NamedTuple):
    status: int
    # The header, if the answer has it.
    retry_after: Optional[str]
    body: bytes


# The first that fits is shown.
_REMEDIES = (
    (FileNotFoundError, "no socket is there: start the daemon (ackbox serve), or correct the path"),
    (ConnectionRefusedError, "nothing listens there: start the daemon (ackbox serve), or correct the address"),
    (PermissionError, "this user may not open the socket: see `listen` in docs/configuration.md"),
    (socket.gaierror, "correct the name of the host"),
    (ssl.SSLCertVerificationError, "give the authority of the daemon's certificate by `tls`, or correct the host"),
    (ssl.SSLError, "the other side does not speak TLS as this one: correct the scheme or the port"),
    (socket.timeout, "the daemon is too busy, or something between does not let connections through"),
    (Exception, "look at the daemon's log, and whether another program listens there"),
)


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.settimeout(self.timeout)
            connection.connect(self._path)
        except BaseException:
            connection.close()
            raise
        self.sock = connection


class Connections:
    """Thread-safe: a request takes an idle connection or makes one."""

    def __init__(self, url: str, token: Optional[str], tls: Optional[ssl.SSLContext]) -> None:
        if not (url.isascii() or url.startswith("unix:")) or not (token or "").isascii():
            raise ValueError("the URL and the token must be ASCII: they are sent in a request's head")
        self._url = url
        self._tls = tls
        self._path = ""
        self._prefix = ""
        # Whether the failure of the last request was logged; written without the lock, as one warning more does no harm.
        self._has_warned = False
        self._headers: Dict[str, str] = {"Authorization": "Bearer " + token} if token else {}
        self._lock = threading.Lock()
        self._idle: List[http.client.HTTPConnection] = []
        if url.startswith("unix:"):
            self._path = url[len("unix:") :]
            if not self._path:
                raise ValueError("the URL must be unix:/PATH, http://… or https://…")
            return
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
            raise ValueError("the URL must be unix:/PATH, http://… or https://…, without a user")
        self._parts = parts
        self._prefix = parts.path.rstrip("/")

    def open(self, timeout: float) -> http.client.HTTPConnection:
        """A connection that is not made yet. Belongs to the caller."""
        if self._path:
            return _UnixConnection(self._path, timeout)
        host = self._parts.hostname or ""
        if self._parts.scheme == "https":
            context = self._tls or ssl.create_default_context()
            return http.client.HTTPSConnection(host, self._parts.port, timeout=timeout, context=context)
        return http.client.HTTPConnection(host, self._parts.port, timeout=timeout)

    def unreachable(self, error: Exception) -> Unreachable:
        """The address, the cause and the remedy of one of `BROKEN`."""
        remedy = next(text for kind, text in _REMEDIES if isinstance(error, kind))
        return Unreachable("%s does not answer: %s; %s" % (self._url, error or type(error).__name__, remedy))

    def warn_once(self, error: Unreachable) -> None:
        """Warns, if this is the first failure since an answer came. Called where the request is tried again."""
        if not self._has_warned:
            self._has_warned = True
            _LOG.warning("%s; it is tried again, and the failures after it are not logged", error)

    def answered(self) -> None:
        """An answer has begun: the next failure is logged."""
        self._has_warned = False

    def send(self, connection: http.client.HTTPConnection, method: str, target: str, body: Optional[bytes]) -> None:
        headers = dict(self._headers)
        if body is not None:
            headers["Content-Type"] = "application/json"
        connection.request(method, self._prefix + target, body=body, headers=headers)

    def request(self, method: str, target: str, body: Optional[bytes], timeout: float) -> Answer:
        """Asks once. On a connection that was idle, and that the daemon may have closed meanwhile, once more: the
        request must be one that may be repeated. Raises `Unreachable`."""
        while True:
            with self._lock:
                reused = self._idle.pop() if self._idle else None
            connection = reused or self.open(timeout)
            if reused is not None and reused.sock is not None:
                reused.sock.settimeout(timeout)
            try:
                self.send(connection, method, target, body)
                response = connection.getresponse()
                answer = Answer(response.status, response.headers.get("Retry-After"), response.read())
            except BROKEN as error:
                connection.close()
                if reused is not None and not isinstance(error, socket.timeout):
                    continue
                raise self.unreachable(error) from error
            except BaseException:
                connection.close()
                raise
            self.answered()
            if response.will_close:
                connection.close()
            else:
                with self._lock:
                    self._idle.append(connection)
            return answer

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()
