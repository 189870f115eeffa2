"""Goal: the clients add and remove peers and subscriptions in the same way: peers.json has each call and what it gives.

Method: a daemon of each client's own. The calls are those of a list: [function, arguments, outcome]. An outcome is what
the function returns: of `peers` the names of those that are not removed, of `subscriptions` their fields with blanks
between, of `removePeer` `left` and `subscriptions`; or the status of the error.

    peers_test.py PROGRAM SOURCE_DIR
"""

import asyncio
import inspect
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import go_programs
import stage

PROGRAM, SOURCE = sys.argv[1:3]
sys.path.insert(0, os.path.join(SOURCE, "clients", "python"))
import ackbox  # noqa: E402
import ackbox.aio  # noqa: E402

FILE = os.path.join(SOURCE, "tests", "clients", "peers.json")
with open(FILE, encoding="utf-8") as calls:
    CALLS = json.load(calls)


async def outcome(client, function, arguments):
    """What a client for Python makes of a call."""
    names = {"addPeer": "add_peer", "removePeer": "remove_peer", "failMessages": "fail_messages"}
    given = {names.get(name, name): value for name, value in arguments.items()}
    if function == "enqueue":
        given["type"] = "t"
    try:
        made = getattr(client, names.get(function, function))(**given)
        made = await made if inspect.isawaitable(made) else made
    except ackbox.ProblemError as error:
        return "status %d" % error.status
    if function == "enqueue":
        return made.is_accepted
    if function == "peers":
        return [one["peer"] for one in made if one["state"] != "removed"]
    if function == "subscriptions":
        return ["%(name)s %(peer)s %(type)s %(session)s" % one for one in made]
    return [made["left"], made["subscriptions"]] if function == "removePeer" else made


class PeersTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        pair = stage.Pair(PROGRAM, self.folder.name)
        self.addCleanup(pair.__exit__)
        # bob does not run: what is for carol is not in flight, and neither is what is for him.
        pair.alice.start()
        self.url = pair.alice.url

    def compare(self, outcomes):
        for (function, arguments, wanted), outcome_ in zip(CALLS, outcomes, strict=True):
            with self.subTest("%s(%s)" % (function, arguments)):
                self.assertEqual(outcome_, wanted)

    def test_the_python_client(self):
        async def play():
            with ackbox.Client(self.url) as client:
                return [await outcome(client, function, arguments) for function, arguments, _ in CALLS]

        self.compare(asyncio.run(play()))

    def test_the_asyncio_client(self):
        async def play():
            async with ackbox.aio.Client(self.url) as client:
                return [await outcome(client, function, arguments) for function, arguments, _ in CALLS]

        self.compare(asyncio.run(play()))

    def played_by(self, *command):
        done = subprocess.run([*command, self.url, FILE], stdout=subprocess.PIPE, timeout=60, check=True)
        self.compare(json.loads(done.stdout))

    def test_the_typescript_client(self):
        subprocess.run([os.path.join(SOURCE, "tests", "clients", "install_typescript"), SOURCE, self.folder.name], check=True)
        program = os.path.join(self.folder.name, "peers_application.mjs")
        shutil.copy(os.path.join(SOURCE, "tests", "clients", "peers_application.mjs"), program)
        self.played_by("node", program)

    def test_the_go_client(self):
        program = go_programs.build("peers_application", SOURCE, self.folder.name)
        if program is None:
            self.skipTest(go_programs.LEFT_OUT)
        self.played_by(program)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
