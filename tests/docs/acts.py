"""What single blocks of the documentation need: the agents around them, and the comparison with what they show."""

import json
import os
import re
import shutil
import sqlite3
import subprocess

from scene import PATIENCE_SECONDS, Wrong


def block_that_begins(scene, begins, number=0):
    return [block for block in scene.blocks if block.text.startswith(begins)][number]


def write_key(scene, name):
    scene.shell("(umask 077; printf 'whsec_%%s\\n' \"$(openssl rand -base64 32)\" > %s)" % name)


def copy_of(folder):
    """The scene's folder is a copy of this one of the sources, PROJECT an empty one in it."""
    def prepare(scene):
        shutil.copytree(os.path.join(scene.setting.source, folder), scene.folder, dirs_exist_ok=True,
                        ignore=shutil.ignore_patterns("dist", "node_modules", "*.tgz"))
        os.mkdir(scene.path("project"))
        scene.environment.update(PROJECT=scene.path("project"), npm_config_offline="true", npm_config_audit="false")
    return prepare


# docs/serve.md

def files_of_the_configuration(scene):
    """The configuration that the page shows last, and the files that it names."""
    write_key(scene, "etc/agent/bob.key")
    write_key(scene, "etc/agent/alice.key")
    scene.write("etc/agent/tokens", "app send,receive,read %s\n" % os.urandom(24).hex())
    scene.write("serve.json", scene.placed(block_that_begins(scene, '{\n  "listen": "unix:').text))


def alice_and_bob(scene):
    """bob.json is the same with the names swapped, and with the other two ports."""
    other = {"alice": "bob", "bob": "alice", "7070": "7071", "7080": "7081", "7081": "7080"}
    text = re.sub(r"\b(alice|bob)\b(?!-|\.key)|\b(7070|7080|7081)\b", lambda word: other[word.group()],
                  block_that_begins(scene, '{\n  "listen": "127.0.0.1:7070"').text)
    scene.write("bob.json", scene.placed(text))
    scene.shell("ackbox serve alice.db --config alice.json\nackbox serve bob.db --config bob.json")
    token_of_the_pair(scene)


def token_of_the_hub(scene):
    write_key(scene, "etc/agent/hub.token")


def certificates_of_bob(scene):
    scene.shell("(umask 077; openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=bob "
                "-addext subjectAltName=IP:127.0.0.1 -keyout bob.key -out bob.pem) && cp bob.pem ca.pem")


def secret_of_a_token_server(scene):
    write_key(scene, "etc/agent/alice.secret")


def token_of_the_pair(scene):
    scene.environment["TOKEN"] = scene.read("tokens").split()[2]


def token_of_the_agent(scene):
    scene.environment["TOKEN"] = scene.read("etc/agent/tokens").split()[2]


def token_of_an_operator(scene):
    scene.environment["TOKEN"] = scene.read("tokens").split()[5]


def hub_with_a_message(scene):
    """A daemon with the mailboxes of the page, and a message for carol."""
    token = os.urandom(24).hex()
    scene.write("hub_tokens", "carol mailbox=urn:agent:carol %s\n" % token)
    inbox = block_that_begins(scene, '"inbox": {\n  "listen": "127.0.0.1:8090"').text
    text = '{"listen":"127.0.0.1:7090","tokens_file":"hub_tokens",%s}' % inbox.replace("{", '{"allow_anonymous":true,', 1)
    scene.write("hub.json", scene.placed(text))
    scene.shell("ackbox serve hub.db --config hub.json\ncurl http://127.0.0.1:8090/inbox -H 'Content-Type: application/cloudevents+json' -d "
                "'{\"specversion\":\"1.0\",\"id\":\"1\",\"source\":\"urn:x\",\"type\":\"t\",\"audience\":\"urn:agent:carol\",\"data\":1}'")
    scene.environment["TOKEN"] = token


def stream_line(scene):
    """What the page's own request printed."""
    return scene.outputs["curl http://127.0.0.1:7070/v1/messages"]


def settle(scene, block):
    """The two frames of the block come by one stream; their receipts are put in the places of …"""
    token_of_the_pair(scene)
    scene.shell("\n".join("curl http://127.0.0.1:7070/v1/messages -H \"Authorization: Bearer $TOKEN\" "
                          "-H 'Content-Type: application/json' -d '{\"peer\":\"bob\",\"type\":\"job\",\"session\":\"%s\"}'" % name
                          for name in ("one", "two")))
    url = scene.placed("http://127.0.0.1:7071/v1/inbox/")
    token = "Authorization: Bearer " + scene.environment["TOKEN"]
    stream = subprocess.Popen(["curl", "--silent", "-N", url + "stream?types=job", "-H", token, "--max-time",
                               str(PATIENCE_SECONDS)], stdout=subprocess.PIPE, text=True)
    try:
        receipts = [json.loads(line)["receipt"] for line in _lines(stream.stdout, 2)]
        body = re.sub("…", lambda _: receipts.pop(0), block.text)
        answer = json.loads(scene.run(["curl", "--silent", "--fail-with-body", url + "settle", "-H", token, "-H",
                                       "Content-Type: application/json", "-d", body]))
    finally:
        stream.kill()
        stream.communicate()
    if [one["status"] for one in answer["results"]] != ["settled", "settled"]:
        raise Wrong("the answer is %s" % answer)


def _lines(stream, count):
    found = []
    while len(found) < count:
        line = stream.readline()
        if not line:
            raise Wrong("the stream ended")
        if line.strip():
            found.append(line)
    return found


# docs/log.md

def peer_down(scene):
    """What an agent logs if its peer does not answer."""
    scene.shell("ackbox init alice bob")
    return scene.shell("ackbox serve alice.db --config alice.json\n"
                "echo '{\"peer\":\"bob\",\"type\":\"t\"}' | ackbox enqueue alice.db\n"
                "until grep -h peer-down \"$SCENE\"/serve.*.log; do sleep 0.02; done")


# docs/clients.md

def mark(scene, block):
    """The first frame changes a row; its repetition changes none."""
    scene.run(["/usr/bin/python3", "-c",
               "import ackbox, sqlite3; ackbox.create_marks(sqlite3.connect('marks.db'))"])
    db = sqlite3.connect(scene.path("marks.db"))
    frame = ("urn:agent:alice", "origin", "orders", 7)
    changed = [db.execute(block.text, frame).rowcount for _ in range(2)]
    if changed != [1, 0]:
        raise Wrong("it changes %s rows" % changed)


# docs/tool.md

def outbox_of_the_tool(scene):
    """An outbox with a dead letter that expired and another one, with pending messages, and with a received frame."""
    frames = [{"id": "pending"}, {"id": "dead"}, {"id": "late", "session": "late", "expires_at": "2000-01-01T00:00:00.000Z"}]
    scene.write("frames.jsonl", "".join(json.dumps({"peer": "alice", "type": "t", "data": 1, **one}) + "\n" for one in frames))
    scene.shell("""
ackbox init alice bob
ackbox serve bob.db --config bob.json --set outbox.gap=block
ackbox serve alice.db --config alice.json
echo '{"peer":"bob","type":"order.placed","id":"received"}' | ackbox enqueue alice.db
until ackbox inbox bob.db --json | grep -q received; do sleep 0.02; done
kill -KILL $(tail -n 1 daemons)
ackbox enqueue bob.db < frames.jsonl
until ackbox list bob.db --state failed --json | grep -q late; do sleep 0.02; done
kill -TERM $(head -n 1 daemons)
while kill -0 $(head -n 1 daemons) 2>/dev/null; do sleep 0.02; done
rm daemons
ackbox mark-failed bob.db dead
ackbox backup bob.db made.db
sed "s/bob.tokens/..\\/bob.tokens/; s/alice-bob.key/..\\/alice-bob.key/" bob.json > made.json
head -n 1 frames.jsonl | sed s/pending/another/ > made.jsonl
""")


def each_line_of_the_tool(scene, block):
    """Each line on a copy of the same outbox; the words in capital letters stand for what it has."""
    outbox_of_the_tool(scene)
    names = {"PEER": "alice", "SOURCE": "urn:agent:alice", "new|keep": "new", "NAME": "carol", "SUBSCRIPTION": "audit",
             "DEFINITION": "'{\"url\":\"https://carol.example.com/\"}'"}
    problems = []
    exits = {"check": (1, 2), "resend": (0, 1), "remove-peer": (1,), "unsubscribe": (1,), "subscriptions": (1,),
             "move": (3,)}  # nothing was acknowledged or added there, and no server is there
    for number, line in enumerate(block.text.splitlines()):
        command = line.partition("  #")[0]
        verb = command.split()[1]
        names["ID"] = "received" if verb.startswith("inbox") else "pending" if verb == "mark-failed" else "dead"
        for shown, real in names.items():
            command = re.sub(r"(?<!-)\b%s(\.\.\.)?(?!\w)" % re.escape(shown), real, command)
        if verb == "forget":  # refused while frames of the sender wait
            command = "ackbox inbox-discard agent.db received\n" + command
        folder = "line%d" % number
        os.mkdir(scene.path(folder))
        for name, copy in {"made.db": "agent.db", "made.json": "serve.json", "made.jsonl": "frames.jsonl"}.items():
            shutil.copy(scene.path(name), scene.path(folder, copy))
        if verb == "restore":
            shutil.copy(scene.path("made.db"), scene.path(folder, "copy.db"))
        try:
            scene.shell("cd %s\n%s" % (folder, command), exits=exits.get(verb, (0,)))
        except Wrong as wrong:
            problems.append("%s: %s" % (command, wrong))
    if problems:
        raise Wrong("\n".join(problems))


def copy_of_the_outbox(scene):
    scene.shell("cp made.db agent.db")


def agent(scene):
    """A daemon serves agent.db."""
    scene.shell("ackbox init alice bob\nackbox serve agent.db --config alice.json")


# proto

def request_of_the_vectors(scene):
    vectors = json.loads(scene.setting.read("proto/vectors/signatures.json"))["request"]
    scene.environment.update({name: vectors[name] for name in ("id", "timestamp", "body")})


def signature_of_the_vectors(setting):
    return "^" + re.escape(json.loads(setting.read("proto/vectors/signatures.json"))["request"]["v1"][3:]) + "$"


def enqueue_line(scene, block):
    agent(scene)
    scene.write("lines", block.text)
    printed = scene.shell("ackbox enqueue agent.db --json < lines")
    if '"stored"' not in printed:
        raise Wrong(printed)
