"""Goal: the asyncio client does what the other does, and does not keep the event loop from working: what it awaits goes on
beside other tasks, and what is left or cancelled gives its frames back.

Method: the scripted server of python_unit_test.py.
"""

import asyncio
import json
import logging
import math
import threading
import unittest

import python_unit_test as unit

import ackbox
from ackbox import aio

SETTLED = (200, {}, b'{"results":[{"receipt":"r","status":"settled"}]}')


def lines(*types):
    return "".join(json.dumps({"receipt": "r%d" % n, "run": 1, "event": {**unit.lone_event("m%d" % n).raw, "type": type}}) + "\n"
                   for n, type in enumerate(types)).encode()


class AioTest(unittest.IsolatedAsyncioTestCase):
    def serve(self, *answers, **options):
        server = unit.Script(answers)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        client = aio.Client(server.url, **options)
        self.addAsyncCleanup(client.close)
        return server, client

    @staticmethod
    def settlements(server):
        return [json.loads(request[3])["settlements"][0] for request in server.requests if request[0] == "POST"]

    async def test_each_operation_is_that_of_the_other_client(self):
        server, client = self.serve(
            unit.STORED, (207, {}, b'{"results":[{"status":"stored","message_id":"a"}]}'), (200, {}, b'{"state":"acked"}'),
            (200, {}, b'{"state":"acked"}'), (200, {}, b'{"pending":0}'), (200, {}, lines("a", "b")), SETTLED, SETTLED, SETTLED)
        async with client:
            self.assertEqual(await client.enqueue("bob", "t", 1, session="s"), ("stored", "m1", 3, ""))
            self.assertEqual((await client.enqueue_many(one for one in [{"peer": "bob", "type": "t"}]))[0].id, "a")
            self.assertEqual(await client.message("m1"), {"state": "acked"})
            self.assertEqual(await client.message("m1", wait=5), {"state": "acked"})
            self.assertEqual(await client.stats(), {"pending": 0})
            frames = client.receive(types="order.*", window=2)
            first, second = [await frames.__anext__() for _ in range(2)]
            self.assertTrue(await first.retry("later", after=1.5))
            self.assertTrue(await second.reject("no"))
            self.assertTrue(await second.release())
            await frames.aclose()
        self.assertEqual(server.requests[5][1], "/v1/inbox/stream?window=2&types=order.%2A")
        self.assertEqual([json.loads(request[3])["settlements"][0]["outcome"] for request in server.requests[6:]],
                         ["retry", "reject", "release"])

    async def test_refusals_are_those_of_the_other_client_and_nothing_is_sent(self):
        server, client = self.serve()
        with self.assertRaisesRegex(TypeError, "did you mean 'session'"):
            await client.enqueue("bob", "t", sesion="s")
        with self.assertRaisesRegex(ValueError, r"data\.a is nan"):
            await client.enqueue("bob", "t", {"a": math.nan})
        with self.assertRaisesRegex(TypeError, "types must be str"):
            client.receive(types=["a"])
        with self.assertRaisesRegex(TypeError, "is no function"):
            await client.run({"a": 1})
        await client.close()
        with self.assertRaisesRegex(ackbox.AckboxError, "the client was closed"):
            await client.stats()
        self.assertEqual(server.requests, [])

    async def test_the_event_loop_goes_on_while_something_is_awaited(self):
        server, client = self.serve(unit.STORED)
        server.answers.clear()
        waits = asyncio.ensure_future(client.enqueue("bob", "t"))
        while not server.requests:
            await asyncio.sleep(0)
        self.assertFalse(waits.done())
        server.answers.append(unit.STORED)
        self.assertEqual((await waits).status, "stored")

    async def test_a_loop_that_is_left_ends_the_stream_and_settles_nothing(self):
        server, client = self.serve((200, {}, lines("a", "b")))
        async for frame in client.receive():
            self.assertEqual((frame.type, frame.is_settled), ("a", False))
            break
        with self.assertRaisesRegex(ackbox.Forbidden, "The end"):
            server.answers.append(unit.problem(403, "The end"))
            async for frame in client.receive():
                self.fail("nothing comes")

    async def test_a_receiver_that_is_cancelled_ends_its_stream(self):
        ended = threading.Event()
        server, client = self.serve(unit.open_stream(lines("a"), ended))
        frames = client.receive()
        await frames.__anext__()
        waits = asyncio.ensure_future(frames.__anext__())
        await asyncio.sleep(0)
        waits.cancel()
        self.assertTrue(await asyncio.get_running_loop().run_in_executor(None, ended.wait, 20))

    async def test_close_ends_a_receiver_of_another_task(self):
        server, client = self.serve()
        task = asyncio.ensure_future(client.run(lambda frame: frame.ack()))
        while not server.requests:
            await asyncio.sleep(0)
        await client.close()
        self.assertIsNone(await task)

    async def test_an_exception_is_the_reason_of_a_retry_and_a_cancelled_task_releases(self):
        server, client = self.serve((200, {}, lines("a")), SETTLED, (200, {}, lines("a")), SETTLED)
        with self.assertRaises(KeyError):
            async for frame in client.receive():
                async with frame:
                    raise KeyError("no item")
        has_begun = asyncio.Event()

        async def waits(frame):
            has_begun.set()
            await asyncio.Event().wait()

        task = asyncio.ensure_future(client.run({"*": waits}))
        await has_begun.wait()
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task
        self.assertEqual([(one["outcome"], one.get("reason")) for one in self.settlements(server)],
                         [("retry", "KeyError: 'no item'"), ("release", None)])

    async def test_run_gives_each_frame_to_the_handler_of_its_type_and_settles_what_that_does_not(self):
        async def places(frame):
            await frame.ack({"placed": frame.id})

        async def fails(frame):
            raise KeyError("no item")

        async def forgets(frame):
            pass

        server, client = self.serve((200, {}, lines("placed", "failed", "forgotten", "unknown", "plain")), *[SETTLED] * 5,
                                    unit.problem(403, "The end"))
        handlers = {"placed": places, "failed": fails, "forgotten": forgets, "plain": lambda frame: frame.reject("no")}
        with self.assertLogs("ackbox", logging.WARNING) as logged, self.assertRaises(ackbox.Forbidden):
            await client.run(handlers)
        self.assertEqual([(one["outcome"], one.get("reason", one.get("result"))) for one in self.settlements(server)], [
            ("ack", {"placed": "m0"}), ("retry", "KeyError: 'no item'"),
            ("retry", "the handler returned without settling the message"), ("retry", 'no handler for type "unknown"'),
            ("reject", "no")])
        self.assertEqual(len(logged.output), 3)

    async def test_many_frames_are_acknowledged_in_one_request(self):
        server, client = self.serve((200, {}, lines("a", "b")),
                                    (200, {}, b'{"results":[{"status":"settled"},{"status":"gone"}]}'))
        frames = client.receive()
        held = [await frames.__anext__() for _ in range(2)]
        self.assertEqual(await client.ack_many(held, (n for n in range(2))), [True, False])
        self.assertEqual([frame.is_settled for frame in held], [True, True])
        await frames.aclose()


if __name__ == "__main__":
    unittest.main()
