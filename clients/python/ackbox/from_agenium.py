"""Moves the messages that wait in an outbox of AGENIUM: `python -m ackbox.from_agenium FILE --peer NAME`.

FILE, or the folder that has its sessions.db, is only read. Without --url the messages are printed as the JSON lines
that `ackbox enqueue` takes; with --url they are posted to a daemon. Each keeps its id, which is also its idempotency
key: what is moved again within a week is a duplicate. Messages of a session stay in their order.

Exit status: 0 done; 1 AGENIUM has the file open; 2 the command line is wrong, or a peer is missing; 3 the file cannot be
read; 4 the daemon refuses or does not answer; 5 some messages were refused.
"""

from __future__ import annotations

import argparse
import collections
import json
import sqlite3
import sys
from typing import Any, Deque, Dict, List, NamedTuple, Optional, Tuple

from . import agenium
from .client import Client
from .errors import AckboxError
from .values import DATA_DEPTH_MAX, to_json

_BATCH_MESSAGES = 500
_BATCH_BYTES = 4 * 1024 * 1024


class Message(NamedTuple):
    row: agenium.Row
    fields: Dict[str, Any]
    # The line that `ackbox enqueue` takes.
    line: str


class Plan(NamedTuple):
    # Those of a session stand together, in their order.
    sessions: Dict[Tuple[str, str], Deque[Message]]
    # Id and reason of what cannot be moved.
    refused: List[Tuple[str, str]]
    # How many wait behind these in their sessions.
    held_back: int
    # Acknowledgements among the messages, which mean nothing to ackbox.
    acks: int
    # How many of the messages AGENIUM has tried to send, so that their receiver may have them.
    attempted: int

    def messages(self) -> List[Message]:
        return [message for queue in self.sessions.values() for message in queue]


class Usage(Exception):
    pass


def _peer_of(row: agenium.Row, peers: Dict[Optional[str], str]) -> str:
    if row.remote in peers:
        return peers[row.remote]
    if None in peers:
        return peers[None]
    if row.remote is None:
        raise Usage("the file does not say where session %s leads: give --peer NAME" % row.session)
    raise Usage("no peer is given for the remote agent %s: --peer %s=NAME" % (row.remote, row.remote))


def plan(rows: List[agenium.Row], options: argparse.Namespace) -> Plan:
    """What becomes of each row. Behind a message that cannot be moved, its session waits. Raises `Usage`."""
    sessions: Dict[Tuple[str, str], Deque[Message]] = {}
    closed = set()
    refused: List[Tuple[str, str]] = []
    held_back = acks = attempted = 0
    for row in rows:
        if row.id in options.skip:
            continue
        peer = _peer_of(row, options.peers)
        place = (peer, row.session if options.session is None else options.session)
        if place in closed:
            held_back += 1
            continue
        try:
            fields = {"peer": peer, "session": place[1], "id": row.id, "idempotency_key": row.id}
            fields.update(agenium.content(agenium.frame_of(row), options.whole_payload))
            line = to_json(fields, DATA_DEPTH_MAX + 1)
        except (TypeError, ValueError) as error:
            refused.append((row.id, str(error)))
            closed.add(place)
            continue
        if fields["type"] == "ACK":
            acks += 1
            continue
        attempted += row.attempts > 0
        sessions.setdefault(place, collections.deque()).append(Message(row, fields, line))
    return Plan(sessions, refused, held_back, acks, attempted)


def _round(sessions: Dict[Tuple[str, str], Deque[Message]]) -> List[Message]:
    """The first message of each session that has one, as many as go into a request: when one of them is refused, none
    behind it has been stored."""
    chosen: List[Message] = []
    size = 0
    for queue in sessions.values():
        if queue and len(chosen) < _BATCH_MESSAGES and (not chosen or size + len(queue[0].line) < _BATCH_BYTES):
            chosen.append(queue[0])
            size += len(queue[0].line)
    return chosen


def post(client: Client, moved: Plan, options: argparse.Namespace) -> Dict[str, Any]:
    """Posts the messages and shows each receipt. Returns the figures, and the rows that the daemon has."""
    done: Dict[str, Any] = {"stored": 0, "duplicates": 0, "held_back": moved.held_back, "rows": []}
    total = len(moved.messages())
    shows_progress = sys.stderr.isatty() and not options.json
    while True:
        chosen = _round(moved.sessions)
        if not chosen:
            sys.stderr.write("\n" * shows_progress)
            return done
        for message, receipt in zip(chosen, client.enqueue_many([message.fields for message in chosen])):
            place = (message.fields["peer"], message.fields["session"])
            queue = moved.sessions[place]
            queue.popleft()
            if receipt.is_accepted:
                done["stored" if receipt.status == "stored" else "duplicates"] += 1
                done["rows"].append(message.row)
            else:
                moved.refused.append((message.row.id, "%s: %s" % (receipt.status, receipt.detail)))
                done["held_back"] += len(queue)
                queue.clear()
            if options.json:
                show({"message_id": message.row.id, "peer": place[0], "session": place[1], "status": receipt.status,
                      "sequence": receipt.sequence, "detail": receipt.detail})
        if shows_progress:
            sys.stderr.write("\r%d of %d" % (len(done["rows"]), total))


def show(value: Dict[str, Any]) -> None:
    print(json.dumps(value), flush=True)


def summary(figures: Dict[str, Any], states: Dict[str, int], moved: Plan, options: argparse.Namespace) -> None:
    """Behind the messages: on standard output with --json and --url, otherwise on standard error."""
    figures.update(refused=len(moved.refused), acks_left_out=moved.acks, attempted_before=moved.attempted,
                   in_file=states)
    if options.json:
        figures["refusals"] = [{"message_id": id, "detail": detail} for id, detail in moved.refused]
        print(json.dumps(figures), file=sys.stdout if options.url or options.dry_run else sys.stderr)
        return
    for id, detail in moved.refused:
        sys.stderr.write("refused %s: %s\n" % (id, detail))
    parts = ["%s %s" % (value, name.replace("_", " ")) for name, value in figures.items() if name != "in_file"]
    sys.stderr.write(", ".join(parts) + "\n")
    sys.stderr.write("AGENIUM's file has: %s\n" % (", ".join("%d %s" % (states[name], name) for name in states) or "nothing"))


def move(options: argparse.Namespace) -> int:
    path = agenium.find(options.file)
    agenium.check_closed(path)
    states = ["PENDING"] + ["FAILED"] * options.failed + ["SENT"] * options.sent
    rows = agenium.read(path, states)
    in_file = agenium.counts(path)
    moved = plan(rows, options)
    if options.dry_run:
        figures: Dict[str, Any] = {"to_move": len(moved.messages()), "held_back": moved.held_back}
        for (peer, session), queue in moved.sessions.items():
            if options.json:
                show({"peer": peer, "session": session, "messages": len(queue)})
            else:
                print("%s %s: %d" % (peer, session, len(queue)))
    elif options.url:
        with Client(options.url, options.token, retry_for=options.retry_for) as client:
            figures = post(client, moved, options)
        accepted = figures.pop("rows")
        if options.mark:
            figures["marked"] = agenium.mark(path, accepted)
    else:
        figures = {"printed": len(moved.messages()), "held_back": moved.held_back}
        for message in moved.messages():
            sys.stdout.buffer.write(message.line.encode() + b"\n")
        sys.stdout.flush()
    summary(figures, in_file, moved, options)
    return 5 if moved.refused else 0


def arguments(words: Optional[List[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m ackbox.from_agenium", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", metavar="FILE", help="sessions.db of AGENIUM, or its folder: ~/.agenium/NAME")
    parser.add_argument("--peer", action="append", default=[], metavar="[REMOTE=]NAME",
                        help="the peer for the messages to this remote agent; without REMOTE=, for all others")
    parser.add_argument("--session", metavar="NAME", help="put all messages of a peer into one session (default: AGENIUM's)")
    parser.add_argument("--url", help="the daemon: unix:/PATH or http://…; default: print JSON lines")
    parser.add_argument("--token-file", metavar="PATH", help="a file with the token, or the .tokens file of `ackbox init`")
    parser.add_argument("--retry-for", type=float, default=60.0, metavar="SECONDS",
                        help="how long to wait for a daemon that does not answer (default 60)")
    parser.add_argument("--failed", action="store_true", help="also messages that AGENIUM gave up")
    parser.add_argument("--sent", action="store_true", help="also messages that were answered but not acknowledged: the "
                        "receiver has them, unless it lost them")
    parser.add_argument("--skip", action="append", default=[], metavar="ID", help="leave this message out")
    parser.add_argument("--whole-payload", action="store_true",
                        help="data is the whole payload, as a receiver gets it on its compatibility path")
    parser.add_argument("--mark", action="store_true",
                        help="with --url: mark what the daemon has as ACKED in AGENIUM's file, in one transaction at the end")
    parser.add_argument("--dry-run", action="store_true", help="only count, by peer and session")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    options = parser.parse_args(words)
    if options.mark and (not options.url or options.dry_run):
        parser.error("--mark needs --url, and no --dry-run")
    options.peers = {}
    for peer in options.peer:
        remote, is_mapped, name = peer.rpartition("=")
        options.peers[remote if is_mapped else None] = name
    options.token = None
    if options.token_file:
        with open(options.token_file, encoding="utf-8") as file:
            lines = [line.split() for line in file if line.strip()]
        options.token = next((line[-1] for line in lines if len(line) == 1 or "send" in line[1].split(",")), None)
    return options


def main(words: Optional[List[str]] = None) -> int:
    is_json = "--json" in (sys.argv[1:] if words is None else words)
    try:
        return move(arguments(words))
    except agenium.StillRunning as error:
        status, text = 1, str(error)
    except Usage as error:
        status, text = 2, str(error)
    except (agenium.FileProblem, sqlite3.Error, OSError) as error:
        status, text = 3, str(error)
    except AckboxError as error:
        status, text = 4, str(error)
    sys.stderr.write((json.dumps({"error": text, "exit_code": status}) if is_json else "from_agenium: " + text) + "\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
