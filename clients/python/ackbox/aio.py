"""The client for asyncio: the names of `ackbox`, to be awaited. The work is done by `ackbox.Client`, in threads of its own.

    async with ackbox.aio.Client(url) as agent:
        await agent.enqueue("bob", "order.placed", {"item": "lamp"}, session="orders")
        async for frame in agent.receive():
            async with frame:
                await frame.ack()

What is cancelled while it is awaited goes on in its thread: an enqueue may be stored, a settlement may count.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import inspect
import ssl
from types import TracebackType
from typing import Any, AsyncGenerator, Callable, Dict, Iterable, List, Mapping, Optional, Type, TypeVar

from . import client as threaded
from .client import Enqueued
from .event import Event
from .handlers import Handlers, Router
from .stream import Frame as HeldFrame
from .stream import Receiver
from .times import Seconds

__all__ = ["Client", "Enqueued", "Frame"]

# At a time; others wait for these. A wait for a message holds its thread, so that these have their own.
_CALLS_MOST = 32
_WAITS_MOST = 64

_T = TypeVar("_T")


class _Threads:
    def __init__(self, most: int) -> None:
        self._pool = concurrent.futures.ThreadPoolExecutor(most, "ackbox")

    async def call(self, function: Callable[..., _T], *args: Any, **options: Any) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._pool, functools.partial(function, *args, **options))

    def end(self, last: Callable[[], None]) -> None:
        """Calls `last` when the calls before are done, and waits for none of them."""
        self._pool.submit(last)
        self._pool.shutdown(wait=False)


class Frame(Event):
    """As `ackbox.Frame`, with settlements that are awaited, and `async with`. One that is cancelled within is released."""

    def __init__(self, held: HeldFrame, threads: _Threads) -> None:
        super().__init__(held.raw)
        self.run = held.run
        self._held = held
        self._threads = threads

    @property
    def is_settled(self) -> bool:
        return self._held.is_settled

    async def __aenter__(self) -> "Frame":
        return self

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        if error is not None:
            await self._threads.call(self._held.__exit__, kind, error, trace)

    async def ack(self, result: Any = None) -> bool:
        return await self._threads.call(self._held.ack, result)

    async def retry(self, reason: str = "", after: Optional[Seconds] = None) -> bool:
        return await self._threads.call(self._held.retry, reason, after)

    async def reject(self, reason: str) -> bool:
        return await self._threads.call(self._held.reject, reason)

    async def release(self) -> bool:
        return await self._threads.call(self._held.release)


class Client:
    """As `ackbox.Client`. For one event loop at a time; not for several threads."""

    def __init__(
        self,
        url: str,
        token: Optional[str] = None,
        *,
        retry_for: Seconds = 60.0,
        timeout: Seconds = 30.0,
        tls: Optional[ssl.SSLContext] = None,
    ) -> None:
        self._client = threaded.Client(url, token, retry_for=retry_for, timeout=timeout, tls=tls)
        self._threads = _Threads(_CALLS_MOST)
        self._waits = _Threads(_WAITS_MOST)

    async def __aenter__(self) -> "Client":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends each `receive` and `run`, and closes the connections."""
        self._client.close()

    async def enqueue(self, peer: str, type: str, data: Any = None, **options: Any) -> Enqueued:
        return await self._threads.call(self._client.enqueue, peer, type, data, **options)

    async def enqueue_many(self, messages: Iterable[Mapping[str, Any]]) -> List[Enqueued]:
        return await self._threads.call(self._client.enqueue_many, list(messages))

    async def message(self, id: str, wait: Optional[Seconds] = None) -> Dict[str, Any]:
        threads = self._threads if wait is None else self._waits
        return await threads.call(self._client.message, id, wait)

    async def stats(self) -> Dict[str, Any]:
        return await self._threads.call(self._client.stats)

    async def peers(self) -> List[Dict[str, Any]]:
        return await self._threads.call(self._client.peers)

    async def add_peer(self, name: str, definition: Mapping[str, Any]) -> bool:
        return await self._threads.call(self._client.add_peer, name, definition)

    async def remove_peer(self, name: str, *, fail_messages: bool = False) -> Dict[str, Any]:
        return await self._threads.call(self._client.remove_peer, name, fail_messages=fail_messages)

    async def subscriptions(self) -> List[Dict[str, Any]]:
        return await self._threads.call(self._client.subscriptions)

    async def subscribe(self, name: str, peer: str, *, type: str = "*", session: str = "") -> bool:
        return await self._threads.call(self._client.subscribe, name, peer, type=type, session=session)

    async def unsubscribe(self, name: str) -> bool:
        return await self._threads.call(self._client.unsubscribe, name)

    async def ack_many(self, frames: Iterable[Frame], results: Optional[Iterable[Any]] = None) -> List[bool]:
        given = None if results is None else list(results)
        return await self._threads.call(self._client.ack_many, [frame._held for frame in frames], given)

    def receive(
        self,
        types: Optional[str] = None,
        sessions: Optional[str] = None,
        window: int = 64,
        mailbox: Optional[str] = None,
    ) -> AsyncGenerator[Frame, None]:
        return self._frames(self._client._receiver(types, sessions, window, mailbox))

    async def run(
        self,
        handlers: Handlers,
        *,
        types: Optional[str] = None,
        sessions: Optional[str] = None,
        window: int = 64,
        mailbox: Optional[str] = None,
    ) -> None:
        """Handlers are coroutine functions, or plain ones that need not wait. They are called one after the other."""
        router = Router(handlers, may_wait=True)
        frames = self.receive(types, sessions, window, mailbox)
        try:
            async for frame in frames:
                await _work_on(frame, router)
        finally:
            await frames.aclose()

    async def _frames(self, receiver: Receiver) -> AsyncGenerator[Frame, None]:
        # One thread, so that the iterator is in one at a time, and is closed behind what still reads.
        reader = _Threads(1)
        frames = receiver.frames()

        def following() -> Optional[HeldFrame]:
            return next(frames, None)

        try:
            while True:
                held = await reader.call(following)
                if held is None:
                    return
                yield Frame(held, self._threads)
        finally:
            # What is held is in play again. Also where this was cancelled: then a thread still reads.
            receiver.stop()
            reader.end(frames.close)


async def _work_on(frame: Frame, router: Router) -> None:
    """As `stream.work_on`."""
    handler = router.handler(frame)
    if handler is None:
        await frame.retry(router.no_handler(frame))
        return
    try:
        async with frame:
            done = handler(frame)
            if inspect.isawaitable(done):
                await done
    except Exception:
        if not frame.is_settled:
            raise  # Its stream must end, which gives it out again.
        router.failed(frame)
    if not frame.is_settled:
        await frame.retry(router.unsettled(frame))
