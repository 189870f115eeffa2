"""Goal: P2 P4: what psycopg enqueues by `ackbox.enqueue` in a program's own transaction is delivered if, and only if, that
commits, in its session's order, under each isolation.

Method: as own_transactions.py says; each client is a thread.

    psycopg_test.py PROGRAM SOURCE_DIR

Ends with 77 where psycopg is not installed (Debian: python3-psycopg).
"""

import sys
import threading

import own_transactions

try:
    import psycopg
except ImportError:
    print("left out: psycopg is not installed")
    sys.exit(77)


class Shop(threading.Thread):
    def __init__(self, url, level):
        super().__init__()
        self._url = url
        self._isolation = psycopg.IsolationLevel[level.replace(" ", "_")]
        self._session = level
        self.repeated = 0
        self.error = None

    def run(self):
        try:
            with psycopg.connect(self._url) as connection:
                connection.isolation_level = self._isolation
                for n in range(1, own_transactions.EACH + 1):
                    while not self._order(connection, n):
                        self.repeated += 1
        except BaseException as error:
            self.error = error

    def _order(self, connection, n):
        errors = psycopg.errors
        try:
            with connection.transaction() as transaction:
                connection.execute("INSERT INTO orders VALUES (%s, %s)", (self._session, n))
                status, = connection.execute(
                    "SELECT status FROM ackbox.enqueue('bob', %s, 'order', %s)", (self._session, '{"n": %d}' % n)).fetchone()
                if status != "stored":
                    raise AssertionError("the status is " + status)
                if n % 4 == 0:
                    raise psycopg.Rollback(transaction)
            return True
        except (errors.SerializationFailure, errors.DeadlockDetected, errors.UniqueViolation):
            return False


def order(url):
    shops = [Shop(url, level) for level in own_transactions.LEVELS for _ in range(own_transactions.CLIENTS)]
    for shop in shops:
        shop.start()
    for shop in shops:
        shop.join()
        if shop.error is not None:
            raise shop.error
    print("repeated: %s" % [shop.repeated for shop in shops])


if __name__ == "__main__":
    sys.exit(own_transactions.main(order))
