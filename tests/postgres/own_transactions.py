"""What tests of `ackbox.enqueue` in an application's own transactions have in common.

Two real `ackbox serve` on two databases deliver, so that snapshots are outdated, while an application of alice's writes rows
of business and enqueues their numbers. The effects at the receiver are then compared with the rows that were committed.
"""

import collections
import contextlib
import os
import sys
import tempfile

import daemons_test

# Orders of each client. Two clients of each isolation enqueue to one session, and so wait for each other. Each fourth order
# is rolled back, and what fails as a lost race is repeated.
EACH = 60
LEVELS = ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"]
CLIENTS = 2


def run(program, source, folder, stack, order):
    """What is wrong; empty: nothing. `order(url)` runs all clients, with a table `orders(session, n)`."""
    for part in ("tests/clients", "clients/python"):
        sys.path.insert(0, os.path.join(source, part))
    import kill_test
    import stage

    server = daemons_test.Server(stack)
    pair = stage.Pair(program, folder)
    names = ["%s_%d" % (daemon.name, os.getpid()) for daemon in pair.daemons]
    for daemon, name in zip(pair.daemons, names):
        daemon.file = server.database(name, stack)
    stack.enter_context(pair)
    application = kill_test.Application(
        "at-bob", folder, [sys.executable, os.path.join(source, "tests", "clients", "kill_application.py"), pair.bob.url, None, "*"],
        {**os.environ, "PYTHONPATH": os.path.join(source, "clients", "python")})
    application.start()
    stack.callback(application.close)
    server.run("CREATE TABLE orders(session text, n integer)", names[0])
    order(pair.alice.file)
    rows = [line.rsplit(" ", 1) for line in server.run("SELECT session||' '||n FROM orders", names[0]).splitlines()]
    wanted = collections.Counter((session, int(n)) for session, n in rows)
    stage.wait_until(lambda: len(application.effects()) >= sum(wanted.values()), "every order takes effect")
    problems = []
    if collections.Counter(tuple(row) for row in application.effects()) != wanted:
        problems.append("the effects are not those of the rows that were committed")
    if len(wanted) != len(LEVELS) * (EACH - EACH // 4):
        problems.append("%d different orders were committed" % len(wanted))
    application.end()
    return problems


def main(order):
    with tempfile.TemporaryDirectory() as folder:
        with contextlib.ExitStack() as stack:
            problems = run(sys.argv[1], sys.argv[2], folder, stack, order)
    for problem in problems:
        print("FAILED: " + problem)
    return 1 if problems else 0
