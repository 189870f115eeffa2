"""Goal: P2 P4: what psycopg enqueues by `ackbox.enqueue` in a program's own transaction is delivered if, and only if, that
commits, in its session's order, under each isolation.

Method: threads write a row of business and enqueue its number in one transaction, at READ COMMITTED, REPEATABLE READ and
SERIALIZABLE; each fourth is rolled back, and what fails as a lost race is repeated. Two real `ackbox serve` on two databases
deliver meanwhile, so that snapshots are outdated. The effects at the receiver are compared with the rows.

    psycopg_test.py PROGRAM SOURCE_DIR

Ends with 77 where psycopg is not installed (Debian: python3-psycopg).
"""

import collections
import contextlib
import os
import sys
import tempfile
import threading

import daemons_test

EACH = 60


class Shop(threading.Thread):
    def __init__(self, psycopg, url, isolation, session):
        super().__init__()
        self._psycopg = psycopg
        self._url = url
        self._isolation = isolation
        self._session = session
        self.repeated = 0
        self.error = None

    def run(self):
        try:
            with self._psycopg.connect(self._url) as connection:
                connection.isolation_level = self._isolation
                for n in range(1, EACH + 1):
                    while not self._order(connection, n):
                        self.repeated += 1
        except BaseException as error:
            self.error = error

    def _order(self, connection, n):
        errors = self._psycopg.errors
        try:
            with connection.transaction() as transaction:
                connection.execute("INSERT INTO orders VALUES (%s, %s)", (self._session, n))
                status, = connection.execute(
                    "SELECT status FROM ackbox.enqueue('bob', %s, 'order', %s)", (self._session, '{"n": %d}' % n)).fetchone()
                if status != "stored":
                    raise AssertionError("the status is " + status)
                if n % 4 == 0:
                    raise self._psycopg.Rollback(transaction)
            return True
        except (errors.SerializationFailure, errors.DeadlockDetected, errors.UniqueViolation):
            return False


def run(options, folder, stack, psycopg):
    """What is wrong; empty: nothing."""
    for part in ("tests/clients", "clients/python"):
        sys.path.insert(0, os.path.join(options.source, part))
    import kill_test
    import stage

    server = daemons_test.Server(stack)
    pair = stage.Pair(options.program, folder)
    for daemon in pair.daemons:
        daemon.file = server.database("%s_%d" % (daemon.name, os.getpid()), stack)
    stack.enter_context(pair)
    application = kill_test.Application(
        "at-bob", folder,
        [sys.executable, os.path.join(options.source, "tests", "clients", "kill_application.py"), pair.bob.url, None, "*"],
        {**os.environ, "PYTHONPATH": os.path.join(options.source, "clients", "python")})
    application.start()
    stack.callback(application.close)
    with psycopg.connect(pair.alice.file) as connection:
        connection.execute("CREATE TABLE orders(session text, n integer)")
    levels = psycopg.IsolationLevel
    # Two threads of each level enqueue to one session, and so wait for each other.
    shops = [Shop(psycopg, pair.alice.file, level, level.name.lower())
             for level in (levels.READ_COMMITTED, levels.REPEATABLE_READ, levels.SERIALIZABLE) for _ in range(2)]
    for shop in shops:
        shop.start()
    for shop in shops:
        shop.join()
        if shop.error is not None:
            raise shop.error
    print("repeated: %s" % [shop.repeated for shop in shops])
    wanted = collections.Counter()
    with psycopg.connect(pair.alice.file) as connection:
        wanted.update(connection.execute("SELECT session, n FROM orders").fetchall())
    stage.wait_until(lambda: len(application.effects()) >= sum(wanted.values()), "every order takes effect")
    problems = []
    if collections.Counter(tuple(row) for row in application.effects()) != wanted:
        problems.append("the effects are not those of the rows that were committed")
    if len(wanted) != 3 * (EACH - EACH // 4):
        problems.append("%d different orders were committed" % len(wanted))
    application.end()
    return problems


def main():
    try:
        import psycopg
    except ImportError:
        print("psycopg is not installed: left out")
        return 77
    options = type("Options", (), {"program": sys.argv[1], "source": sys.argv[2]})
    with tempfile.TemporaryDirectory() as folder:
        with contextlib.ExitStack() as stack:
            problems = run(options, folder, stack, psycopg)
    for problem in problems:
        print("FAILED: " + problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
