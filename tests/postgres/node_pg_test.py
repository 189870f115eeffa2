"""Goal: P2 P4: what node-pg enqueues by `ackbox.enqueue` in a program's own transaction is delivered if, and only if, that
commits, in its session's order, under each isolation.

Method: as own_transactions.py says; each client is a connection of one Node process, node_pg_orders.mjs.

    node_pg_test.py PROGRAM SOURCE_DIR

Ends with 77 where npm or its registry is out of reach.
"""

import os
import shutil
import subprocess
import sys
import tempfile

import own_transactions

PACKAGE = "pg@8.13.1"


def main():
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(os.path.join(sys.argv[2], "tests", "postgres", "node_pg_orders.mjs"), folder)
        install = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "--prefix", folder, PACKAGE]
        if shutil.which("npm") is None or subprocess.run(install, stdout=subprocess.DEVNULL).returncode != 0:
            print("left out: %s cannot be installed by npm" % PACKAGE)
            return 77

        def order(url):
            subprocess.run(["node", os.path.join(folder, "node_pg_orders.mjs"), url, str(own_transactions.EACH),
                            str(own_transactions.CLIENTS), *own_transactions.LEVELS], check=True)

        return own_transactions.main(order)


if __name__ == "__main__":
    sys.exit(main())
