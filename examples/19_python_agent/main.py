"""An agent in Python beside `ackbox serve`: it plays ball with another agent, and survives kill -9 at any instant.

    PYTHONPATH=clients/python python3 examples/19_python_agent/main.py URL PEER DATABASE [BALLS]

URL is its daemon, such as `examples/run --serve` starts. With BALLS it throws the first one, and ends with the last.
"""

import sqlite3
import sys

import ackbox

url, peer, file = sys.argv[1:4]
balls = int(sys.argv[4]) if len(sys.argv) > 4 else None
db = sqlite3.connect(file)
db.execute("CREATE TABLE IF NOT EXISTS caught(n INTEGER NOT NULL)")
ackbox.create_marks(db)
agent = ackbox.Client(url)


# [quote]
def catch(db, event):
    db.execute("INSERT INTO caught(n) VALUES (?)", (event.data["n"],))
    return {"n": event.data["n"] + 1}


def play():
    for frame in agent.receive(types="ball", sessions="game"):
        # The row and the mark commit together. A repetition, as after a kill, changes nothing and has the same result,
        # and the key makes a second throw of the same ball a duplicate. An exception is the reason of a retry.
        with frame:
            ball = ackbox.apply(db, frame, catch).result
            if balls is None or ball["n"] <= balls:
                agent.enqueue(peer, "ball", ball, session="game", idempotency_key="answer-to-" + frame.id)
            frame.ack()
        print("caught", frame.data["n"], flush=True)
        if balls is not None and ball["n"] > balls:
            return
# [end quote]


if balls is not None:
    agent.enqueue(peer, "ball", {"n": 1}, session="game", idempotency_key="first-ball")
play()
