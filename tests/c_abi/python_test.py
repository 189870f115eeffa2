"""Goal: a language that calls C needs no more than ackbox.h: by ctypes, without a compiler.

Method: alice and bob in this process; bob claims in a thread and settles, alice waits for the events. Then arguments
that a language without C's types gets wrong.

    python_test.py LIBRARY
"""

import ctypes
import json
import os
import select
import sqlite3
import sys
import tempfile
import threading

KEY = b"whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
TEXT, SIZE, NUMBER, LONG, ULONG = (ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint32, ctypes.c_int64, ctypes.c_uint64)
OK, WRONG_ARGUMENT, NOTHING, LATE = 0, 200, 201, 202
ACK, REJECT = 1, 3
MESSAGES = 20
PATIENCE_SECONDS = 120


def structure(name, *members):
    """A structure of ackbox.h, whose objects know their size."""
    def init(self, **values):
        ctypes.Structure.__init__(self, struct_size=ctypes.sizeof(self), **values)
    return type(name, (ctypes.Structure,), {"_fields_": [("struct_size", SIZE), *members], "__init__": init})


Options = structure("Options", ("agent", TEXT), ("authority_file", TEXT), ("durability", NUMBER), ("events", NUMBER))
Peer = structure("Peer", ("name", TEXT), ("url", TEXT), ("agent", TEXT), ("secrets", TEXT), ("secrets_file", TEXT),
                 ("profile", NUMBER), ("allow_plain_http", NUMBER))
Listen = structure("Listen", ("address", TEXT), ("path", TEXT), ("certificate_file", TEXT), ("key_file", TEXT),
                   ("types", ctypes.POINTER(TEXT)), ("type_count", SIZE), ("port", NUMBER), ("window", NUMBER),
                   ("allow_anonymous", NUMBER), ("allow_plain_http", NUMBER))
Message = structure("Message", ("peer", TEXT), ("session", TEXT), ("type", TEXT), ("data", TEXT), ("data_size", SIZE),
                    ("id", TEXT), ("idempotency_key", TEXT), ("supersede_key", TEXT), ("correlation_id", TEXT),
                    ("traceparent", TEXT), ("not_before_ms", LONG), ("expires_at_ms", LONG), ("has_priority", NUMBER),
                    ("priority", NUMBER))
Receipt = structure("Receipt", ("sequence", ULONG), ("duplicate", NUMBER), ("reserved", NUMBER),
                    ("message_id", ctypes.c_char * 136), ("superseded_id", ctypes.c_char * 136))
Frame = structure("Frame", ("claim", ULONG), ("id", TEXT), ("source", TEXT), ("type", TEXT), ("session", TEXT),
                  ("origin", TEXT), ("sequence", ULONG), ("previous_sequence", ULONG), ("data", TEXT),
                  ("data_size", SIZE), ("data_content_type", TEXT), ("correlation_id", TEXT), ("traceparent", TEXT),
                  ("time_ms", LONG), ("run", NUMBER), ("retries", NUMBER), ("resent_of", TEXT))
Outcome = structure("Outcome", ("result", TEXT), ("detail", TEXT), ("code", TEXT), ("retry_after_ms", LONG),
                    ("kind", NUMBER), ("reserved", NUMBER))

library = ctypes.CDLL(sys.argv[1])
for name in ("ackbox_version", "ackbox_status_name", "ackbox_last_error"):
    getattr(library, name).restype = TEXT
library.ackbox_settle.argtypes = [ctypes.c_void_p, ULONG, ctypes.c_void_p]
library.ackbox_free.argtypes = [ctypes.c_void_p]


def call(name, *arguments, allowed=()):
    status = getattr(library, "ackbox_" + name)(*arguments)
    if status != OK and status not in allowed:
        raise AssertionError("%s: %s: %s" % (name, library.ackbox_status_name(status), library.ackbox_last_error()))
    return status


def text_of(name, agent, *arguments, allowed=()):
    place = ctypes.c_void_p()
    if call(name, agent, *arguments, ctypes.byref(place), allowed=allowed) != OK:
        return None
    text = ctypes.string_at(place).decode()
    library.ackbox_free(place)
    return text


def wait_readable(agent):
    descriptor = ctypes.c_int()
    call("fd", agent, ctypes.byref(descriptor))
    if not select.select([descriptor.value], [], [], PATIENCE_SECONDS)[0]:
        raise AssertionError("nothing comes")


def open_agent(folder, name, peers):
    agent = ctypes.c_void_p()
    call("new", ctypes.byref(Options(agent=b"urn:agent:" + name, events=1)), ctypes.byref(agent))
    for peer in peers:
        call("add_peer", agent, ctypes.byref(peer))
    call("open", agent, os.path.join(os.fsencode(folder), name + b".db"))
    return agent


def receive(bob, rows):
    """Takes effect in bob's own file: a mark and a row in one transaction, then the end of the claim."""
    db = sqlite3.connect(rows, isolation_level=None)
    db.execute("CREATE TABLE effects(source, origin, session, sequence, n, UNIQUE(source, origin, session, sequence))")
    for _ in range(MESSAGES):
        frame = Frame()
        while call("claim", bob, ctypes.byref(frame), allowed=[NOTHING]) == NOTHING:
            wait_readable(bob)
        n = json.loads(ctypes.string_at(frame.data, frame.data_size))["n"]
        db.execute("INSERT OR IGNORE INTO effects VALUES(?,?,?,?,?)",
                   (frame.source, frame.origin, frame.session, frame.sequence, n))
        outcome = Outcome(kind=ACK, result=b'{"n":%d}' % n) if n else Outcome(kind=REJECT, code=b"zero")
        call("settle", bob, frame.claim, ctypes.byref(outcome))
    db.close()


def exchange(folder):
    # Bob does not know alice's URL: she asks him for the outcomes, or he has a peer that only sends.
    bob = open_agent(folder, b"bob", [Peer(name=b"alice", agent=b"urn:agent:alice", secrets=KEY)])
    types = (TEXT * 2)(b"order.*", b"other")
    call("listen", bob, ctypes.byref(Listen(types=types, type_count=2)))
    call("start", bob)
    url = text_of("url", bob).encode()
    alice = open_agent(folder, b"alice", [Peer(name=b"bob", url=url, agent=b"urn:agent:bob", secrets=KEY)])
    for n in range(MESSAGES):
        receipt = Receipt()
        message = Message(peer=b"bob", session=b"s%d" % (n % 4), type=b"order.placed", data=b'{"n":%d}' % n)
        call("enqueue", alice, ctypes.byref(message), ctypes.byref(receipt))
        assert receipt.sequence == n // 4 + 1 and len(receipt.message_id) == 36
    call("start", alice)
    rows = os.path.join(folder, "rows.db")
    receiver = threading.Thread(target=receive, args=(bob, rows))
    receiver.start()
    receiver.join(PATIENCE_SECONDS)
    assert not receiver.is_alive()
    db = sqlite3.connect(rows)
    taken = db.execute("SELECT session, sequence, n FROM effects ORDER BY n").fetchall()
    db.close()
    assert taken == [(b"s%d" % (n % 4), n // 4 + 1, n) for n in range(MESSAGES)], taken
    assert json.loads(text_of("stats_json", alice))["enqueued_total"] == MESSAGES
    assert json.loads(text_of("explain_json", alice, receipt.message_id))["peer"] == "bob"
    misuse(alice)
    call("close", alice)
    call("close", bob)


def misuse(alice):
    def refused(expected, name, *arguments):
        assert call(name, *arguments, allowed=[expected]) == expected
        assert library.ackbox_last_error()
    refused(WRONG_ARGUMENT, "enqueue", alice, None, None)
    refused(WRONG_ARGUMENT, "enqueue", None, ctypes.byref(Message(type=b"t")), None)
    # Another structure than the function takes: its size differs.
    refused(WRONG_ARGUMENT, "enqueue", alice, ctypes.byref(Peer(name=b"bob")), None)
    refused(WRONG_ARGUMENT, "claim", alice, ctypes.byref(Outcome()))
    refused(LATE, "settle", alice, 2**64 - 1, ctypes.byref(Outcome(kind=ACK)))
    # Texts of one thread do not change those of another.
    before = library.ackbox_last_error()
    other = threading.Thread(target=lambda: refused(WRONG_ARGUMENT, "fd", alice, None))
    other.start()
    other.join()
    assert library.ackbox_last_error() == before


with tempfile.TemporaryDirectory() as place:
    exchange(place)
print("version", library.ackbox_version().decode())
