"""What the runbook quotes, compared with what the program prints: two agents, and peers in each state that a page shows."""

import http.server
import json
import re
import threading
import time
import urllib.error
import urllib.request

from scene import PATIENCE_SECONDS, Wrong

ANSWERS = {"/ok": (200, b""), "/shop": (404, b"no such route"), "/gone": (410, b"closed"), "/flaky": (500, b"database is locked"),
           "/picky": (422, b'{"detail":"no such order"}')}
MESSAGES = ["order-1", "away-1", "away-2", "shop-1", "gone-1", "busy-1", "busy-2", "no-1", "no-2", "err-1", "ok-1", "later-1",
            "old-1", "aged-0"]
FRAMES = ["order-1", "order-2", "mail-1", "flaky-1", "bad-1", "slow-1"]
# Reasons that the agents give only later in the story; all others come while both run.
LATER = {"peerPaused": "paused", "expired": "paused", "notRunning": "killed", "ownerDead": "killed", "noDeferredHandler": "killed",
         "peerNotConfigured": "again", "pastHorizon": "again", "handled": "settled"}


class Peers:
    """Receivers that answer by their path; `/slow` does not answer before the end."""

    def __enter__(self):
        self._ended = threading.Event()
        peers = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers["content-length"]))
                if self.path == "/slow":
                    peers._ended.wait()
                    return
                status, body = ANSWERS[self.path]
                self.send_response(status)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._ended.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def url(self, path):
        return "http://127.0.0.1:%d/%s" % (self._server.server_address[1], path)


def quotations(setting, page):
    """(entry, text) of each quoted sentence: lines that begin with `> `."""
    found, entry = [], ""
    for line in setting.read("docs/runbooks/" + page).splitlines() + [""]:
        if line.startswith("### "):
            entry = line[4:]
        if not line.startswith("> "):
            continue
        if found and found[-1][0] == entry:
            found[-1][1].append(line[2:])
        else:
            found.append((entry, [line[2:]]))
    return [(entry, " ".join(lines)) for entry, lines in found]


def pattern_of(quotation):
    """Instants, durations, processes and ports differ from one time to the other; … is left out."""
    parts = re.split(r"(…|\d{4}-\d\d-\d\dT[\d:.]+Z|127\.0\.0\.1:\d{4,}|process \d+|in \d+ s\b|for \d+ s\b)", quotation)
    kinds = {"…": ".*", "p": r"process \d+", "i": r"(?:in \d+ s|now)", "f": r"for \d+ (?:s|min)", "1": r"127\.0\.0\.1:\d+",
             "2": r"[\dTZ:.-]+"}
    return re.compile("".join(kinds[part[0]] if index % 2 else re.escape(part) for index, part in enumerate(parts)))


def plain(line):
    """A line of a table without its widths and figures."""
    return " ".join(re.sub(r"\d+ (?:ms|s|m)\b", "TIME", re.sub(r"\d+-\d+-\d+ [\d:]+ UTC", "INSTANT", line)).split())


class Story:
    def __init__(self, scene, peers):
        self._scene = scene
        self._peers = peers
        self._api = {name: scene.placed("127.0.0.1:" + port) for name, port in (("alice", "7070"), ("bob", "7071"))}
        self._inbox = {name: scene.placed("127.0.0.1:" + port) for name, port in (("alice", "7080"), ("bob", "7081"))}
        self._printed = {}

    def require_quoted(self, phase, sources, quoted):
        """Asks the sources until each quotation of this phase was printed once."""
        wanted = [(entry, text, pattern_of(text)) for entry, text in quoted if LATER.get(entry, "live") == phase]
        deadline = time.monotonic() + PATIENCE_SECONDS
        while wanted:
            printed = [line for source in sources for line in source()]
            wanted = [one for one in wanted if not any(one[2].fullmatch(line) for line in printed)]
            if wanted and time.monotonic() > deadline:
                raise Wrong("%s: this is quoted, and not printed:\n%s\nprinted:\n%s" % (*wanted[0][:2], "\n".join(printed)))

    def record(self, name, command, needed):
        """What the command prints once the needed expression is in it."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        printed = ""
        while not re.search(needed, printed):
            if time.monotonic() > deadline:
                raise Wrong("%s does not print %r:\n%s" % (command, needed, printed))
            printed = self._scene.shell(command, exits=(0, 1, 4))
        self._scene.outputs[name] = printed

    def explained(self):
        return self._each("alice.db", "explain", MESSAGES)

    def inbox_explained(self):
        return self._each("bob.db", "inbox-explain", FRAMES)

    def _each(self, file, verb, ids):
        commands = "\n".join('ackbox %s %s %s 2>/dev/null || true' % (verb, file, one) for one in ids)
        return self._scene.shell(commands).splitlines()

    def of_the_api(self):
        """What the process itself says of its messages."""
        found = []
        for one in MESSAGES:
            try:
                with urllib.request.urlopen("http://%s/v1/messages/%s" % (self._api["alice"], one)) as answer:
                    found.append(json.load(answer)["sentence"])
            except urllib.error.HTTPError:
                pass
        return found

    def shell(self, text):
        return self._scene.shell(text)

    def serve(self, name, configuration):
        configuration = {"listen": self._api[name], "agent": "urn:agent:" + name, **configuration}
        self._scene.write(name + ".json", json.dumps(configuration))
        self.shell("ackbox serve %s.db --config %s.json" % (name, name))

    def kill(self):
        self.shell('kill -KILL $(cat daemons)\nfor pid in $(cat daemons); do while kill -0 "$pid" 2>/dev/null; do sleep 0.02; done; '
                   "done\nrm daemons")

    def enqueue(self, *frames):
        lines = "".join(json.dumps({"data": 1, "type": "t", "session": "", **frame}) + "\n" for frame in frames)
        self._scene.write("frames.jsonl", lines)
        self.shell("ackbox enqueue alice.db < frames.jsonl")

    def begin(self):
        """Both agents run, and each peer has what it answers to."""
        self.shell("(umask 077; printf 'whsec_%s\\n' \"$(openssl rand -base64 32)\" > alice-bob.key)")
        deliver = {"mail.*": "shop", "x.*": "flaky", "bad.*": "picky", "slow.*": "slow"}
        self.serve("bob", {"peers": [], "inbox": {
            **self._inbox_of("bob", "alice"), "pull": ["order.*"],
            # A frame in hand stays in hand to the end of the story, however slow the machine is.
            "deliver": [{"types": types, "url": self._peers.url(path), "timeout": "4m"} for types, path in deliver.items()]}})
        webhooks = [{"name": name, "url": self._peers.url(name), "profile": "webhook"}
                    for name in ("shop", "gone", "slow", "picky", "flaky", "ok")]
        self.serve("alice", {
            "outbox": {"gap": "block", "ack_timeout": "10m", "request_timeout": "10m"},
            "peers": [self._peer("bob"), {"name": "away", "url": "http://127.0.0.1:1/inbox"}, *webhooks],
            "inbox": {**self._inbox_of("alice", "bob"), "pull": []}})
        types = {"order": "order.placed", "mail": "mail.send", "flaky": "x.y", "bad": "bad.y", "slow": "slow.y"}
        self.enqueue(*({"peer": "bob", "id": one, "type": types[one.split("-")[0]],
                        "session": "orders" if one.startswith("order") else ""} for one in FRAMES),
                     *({"peer": peer, "id": one, "session": session} for peer, one, session in (
                         ("away", "away-1", "s"), ("away", "away-2", "s"), ("shop", "shop-1", "s"), ("shop", "shop-2", "s2"),
                         ("gone", "gone-1", "s"), ("slow", "busy-1", "s"), ("slow", "busy-2", "s"), ("picky", "no-1", "p"),
                         ("picky", "no-2", "p"), ("flaky", "err-1", ""), ("ok", "ok-1", ""))),
                     {"peer": "away", "id": "later-1", "not_before": "2999-01-01T00:00:00.000Z"})

    def again(self):
        """Both agents run again: alice with another configuration, bob with alice as a peer that is away."""
        self.shell("ackbox pause alice.db away")
        self.serve("bob", {"peers": [self._peer("alice")], "inbox": {**self._inbox_of("bob", "alice"), "pull": ["order.*"]}})
        self.serve("alice", {"outbox": {"retry": {"horizon": "1ms"}}, "peers": [{"name": "away", "url": "http://127.0.0.1:1/"}]})
        self.enqueue({"peer": "away", "id": "aged-0", "session": "s3"})

    def settle(self):
        """An application takes the order from its stream, and acknowledges it with a result."""
        with urllib.request.urlopen("http://%s/v1/inbox/stream?types=order.*" % self._api["bob"]) as stream:
            receipt = json.loads(next(line for line in stream if line.strip()))["receipt"]
            body = {"settlements": [{"receipt": receipt, "outcome": "ack", "result": {"total": 42}}]}
            request = urllib.request.Request("http://%s/v1/inbox/settle" % self._api["bob"], json.dumps(body).encode(),
                                             {"Content-Type": "application/json"})
            with urllib.request.urlopen(request) as answer:
                answer.read()

    def _peer(self, name):
        return {"name": name, "url": "http://%s/inbox" % self._inbox[name], "agent": "urn:agent:" + name,
                "secrets_file": "alice-bob.key"}

    def _inbox_of(self, name, sender):
        return {"listen": self._inbox[name], "peers": [{"agents": ["urn:agent:" + sender], "secrets_file": "alice-bob.key"}]}


def whole_story(scene, block):
    """Each sentence that messages.md and received.md quote is printed; then the block is compared."""
    sent, received = (quotations(scene.setting, page) for page in ("messages.md", "received.md"))
    if len(sent) < 15 or len(received) < 6:
        raise Wrong("only %d and %d sentences are quoted" % (len(sent), len(received)))
    with Peers() as peers:
        story = Story(scene, peers)
        story.begin()
        story.require_quoted("live", [story.explained], sent)
        story.require_quoted("live", [story.inbox_explained], received)
        story.record("blocked", "ackbox blocked alice.db", "no-1")
        story.record("attempts", "ackbox explain alice.db err-1", r" (?:[2-9]|\d\d)  .*retry")
        story.shell("ackbox pause alice.db away\nackbox pause alice.db away --session s")
        story.enqueue({"peer": "away", "id": "old-1", "session": "s9", "expires_at": "2000-01-01T00:00:00.000Z"})
        story.require_quoted("paused", [story.explained], sent)
        story.shell("ackbox resume alice.db away\nackbox resume alice.db away --session s")
        story.kill()
        story.require_quoted("killed", [story.explained], sent)
        story.require_quoted("killed", [story.inbox_explained], received)
        story.record("doctor", "ackbox doctor alice.db", "processes")
        story.again()
        story.require_quoted("again", [story.of_the_api], sent)
        story.settle()
        story.require_quoted("settled", [story.inbox_explained], received)
    recorded("blocked")(scene, block)


def recorded(name):
    """Each line of the block is one that the story's command printed, but for widths, instants and durations."""
    def compare(scene, block):
        if name not in scene.outputs:
            raise Wrong("the first block of this page ended before")
        printed = [plain(line) for line in scene.outputs[name].splitlines()]
        for line in block.text.splitlines():
            shape = re.sub(r"\\?\b\d+\b", r"\\d+", re.escape(plain(line)))
            if not any(re.fullmatch(shape, one) for one in printed):
                raise Wrong("shown:   %s\nprinted: %s" % (line, scene.outputs[name]))
    return compare


def dead_letters(scene, block):
    with Peers() as peers:
        story = Story(scene, peers)
        story.begin()
        story.record("failed", "ackbox list alice.db --state failed", "no-1")
    recorded("failed")(scene, block)
