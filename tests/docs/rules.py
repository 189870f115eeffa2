"""What is done with each fenced block of the documentation: for each page one rule for each block, in their order.

To add a block, add its rule in its place. A rule names the beginning of the block's first line, so that a block that is
moved or inserted is noticed. The treatments, best first (treatments.py describes their parameters):

    shell(BEGINS)                  executed by bash, the stand-ins of stand_ins.sh before it
    console(BEGINS)                the same, commands after `$ ` and their output between them
    python(BEGINS)  sql(BEGINS, FILE)  config(BEGINS)      executed by Python; by `sqlite3`; checked by `ackbox serve`
    played(BEGINS, FUNCTION)       executed by a function in acts.py
    like(BEGINS, FUNCTION)         output, compared with what a program prints now; … stands for anything
    elsewhere(BEGINS, TEST)        another test reads the block from the page, and executes it
    quoted(BEGINS, SOURCE)         equal to a part of a source that is compiled and tested
    compiled(BEGINS)               C++ or C
    data(BEGINS, SCHEMA)  prometheus(BEGINS)               parsed, and held to a schema
    no_code(BEGINS, REASON)        a diagram, a form of notation
    left_out(BEGINS, REASON)       nothing on this machine can execute it

A page has a folder, which its blocks share in their order. There, ports of 127.0.0.1 are replaced by free ones, and
/run/agent, /etc/agent and the installed extension by others; `ackbox serve` goes on in the background until the page's end.

By hand, for one page:

    tests/docs/run build/dev/src/cli/ackbox build/dev/src/extension/ackbox.so build/dev clang++ docs/serve.md
"""

import acts
import runbook
from treatments import (compiled, config, data, elsewhere, left_out, like, no_code, played, prometheus, quoted, shell)

KEY = "(umask 077; printf 'whsec_"


def rules(setting):
    return {
        "ARCHITECTURE.md": [
            no_code("src/serve, cli", "a diagram"),
            shell("ctest --preset dev -R '^(unit_(base", at_source=True),
            shell("ctest --preset dev -R '^(unit_(reception", at_source=True),
        ],
        "CONTRIBUTING.md": [shell("cmake --preset dev", at_source=True)],
        "README.md": [
            no_code("alice  ", "a diagram"),
            left_out("scripts/install_packages", "builds and installs packages for minutes; tests/packages/run does it"),
            shell("ackbox init alice bob"),
            quoted("#include <ackbox/http_sender.hpp>", "examples/01_embed/main.cpp"),
        ],
        "clients/go/README.md": [
            elsewhere("go mod edit", "tests/clients/go_daemon_test.py"),
            elsewhere("package main", "tests/clients/go_daemon_test.py"),
            left_out("sql.Register(", "needs a driver that is compiled from C, which the tests do not install"),
        ],
        "clients/python/README.md": [
            shell("python3 build_backend.py", before=acts.copy_of("clients/python"), prints=r"\.whl\n"),
            elsewhere("import sqlite3", "tests/clients/daemon_test.py"),
        ],
        "clients/typescript/README.md": [
            shell("npm pack", before=acts.copy_of("clients/typescript"), prints="added 1 package"),
            elsewhere("import { Client }", "tests/clients/daemon_test.py"),
            elsewhere("import { apply,", "tests/clients/typescript_types.sh"),
        ],
        "docs/c.md": [
            left_out("cc -std=c11 main.c", "needs the installed package; tests/packages/path builds the example by pkg-config"),
            compiled("#include <ackbox.h>", inside=False),
            compiled("char *json;", before="#include <ackbox.h>\n#include <stdio.h>\nackbox_agent *alice = NULL;"),
        ],
        "docs/clients.md": [
            quoted("def catch(db, event):", "examples/19_python_agent/main.py"),
            played("INSERT INTO ackbox_marks", acts.mark),
            elsewhere("package main", "tests/clients/go_daemon_test.py"),
            elsewhere("id=$(openssl rand", "tests/integration/curl_test.cpp"),
        ],
        "docs/cpp.md": [
            quoted("OutboxWriter writer", "examples/02_transactional_enqueue/main.cpp"),
            quoted("const auto book", "examples/03_consume_and_reply/main.cpp"),
            compiled("const auto announce"),
        ],
        "docs/install.md": [
            left_out("scripts/install_packages runtime && apt", "builds all packages for minutes; tests/packages/run uses them"),
            left_out("apt install ./ackbox_", "installs a package; tests/packages/path does it"),
            left_out("tar -xf ackbox-", "needs a package; tests/packages/path does it"),
            left_out("python3 -m venv py", "needs a package; tests/packages/path does it"),
            left_out("npm install --offline", "needs a package; tests/packages/path does it"),
            left_out("podman build", "needs an engine; tests/packages/container performs the Containerfile"),
            shell("scripts/install_packages runtime", at_source=True),
            quoted("find_package(ackbox", "tests/consumer/project/CMakeLists.txt", names={"agent": "consumer"}),
            left_out("include(FetchContent)", "needs the release's tag; tests/consumer fetches from the tree"),
            left_out("vcpkg install", "neither program is a package of Debian; recipes_test.cpp compares the recipes"),
            left_out("sha256sum --check", "needs the packages; tests/packages/run does it"),
            left_out("scripts/release --draft --twice", "builds all packages two times"),
        ],
        "docs/log.md": [
            compiled("OutboxOptions options;"),
            like("2026-01-31T23:59:59.999Z warning peer-down", acts.peer_down),
        ],
        "docs/migration_agenium.md": [
            elsewhere("python3 -m ackbox.from_agenium", "tests/migration/agenium_test.py"),
            elsewhere("python3 -m ackbox.from_agenium", "tests/migration/agenium_test.py"),
            elsewhere("ackbox list alice.db --state failed", "tests/migration/agenium_test.py"),
            elsewhere("python3 -m ackbox.from_agenium", "tests/migration/agenium_test.py"),
            elsewhere("ackbox list alice.db --state pending", "tests/migration/agenium_test.py"),
        ],
        "docs/migration_table.md": [
            elsewhere("CREATE TABLE outbox(", "tests/migration/table_test.py"),
            elsewhere('sqlite3 app.db ".backup before.db"', "tests/migration/table_test.py"),
            elsewhere("ackbox serve app.db --config alice.json", "tests/migration/table_test.py"),
            elsewhere('sqlite3 app.db "SELECT count(*) FROM outbox', "tests/migration/table_test.py"),
            elsewhere(".bail on", "tests/migration/table_test.py"),
            elsewhere('while [ "$(sqlite3 app.db \'SELECT count(*)', "tests/migration/table_test.py"),
            elsewhere("import json, sqlite3, sys", "tests/migration/table_test.py"),
            elsewhere('sqlite3 app.db "SELECT count(*) FROM outbox', "tests/migration/table_test.py"),
            elsewhere("ackbox pause app.db bob", "tests/migration/table_test.py"),
            elsewhere(".bail on", "tests/migration/table_test.py"),
            elsewhere("sqlite3 app.db < back.sql", "tests/migration/table_test.py"),
            elsewhere('sqlite3 -readonly other.db "SELECT', "tests/migration/table_test.py"),
        ],
        "docs/monitoring/README.md": [
            prometheus("rule_files:"),
            shell("apt-get install", at_source=True),
        ],
        "docs/runbooks/dead_letters.md": [played("ID    STATE", runbook.dead_letters)],
        "docs/runbooks/messages.md": [
            played("PEER   SESSION", runbook.whole_story),
            played("FIRST ", runbook.recorded("attempts")),
            played("warning  processes", runbook.recorded("doctor")),
        ],
        "docs/security.md": [shell(KEY)],
        "docs/serve.md": [
            shell("ackbox serve agent.db", before=acts.files_of_the_configuration),
            left_out("useradd", "adds a user to this machine; tests/packages/run does it by the Debian package"),
            shell(KEY),
            config("{", file="alice.json"),
            shell("curl http://127.0.0.1:7070/v1/messages", before=acts.alice_and_bob, prints='"receipt"'),
            config("{", file="bob_on_another_machine.json", before=acts.certificates_of_bob),
            shell("curl --unix-socket", before=acts.token_of_the_agent, prints='"message_id"'),
            config('"inbox": {', file="inbox.json", section=True),
            like('{"receipt":"…"', acts.stream_line),
            played('{"settlements"', acts.settle),
            config('"inbox": {', file="hub_part.json", section=True),
            shell("curl -N http://127.0.0.1:7090", before=acts.hub_with_a_message, prints='"receipt"'),
            config('"inbox": {', file="sender_part.json", section=True),
            shell("hub=http://127.0.0.1:7090", prints='"status":"settled"'),
            config('"agent": "urn:agent:carol"', file="fetch.json", before=acts.token_of_the_hub, section=True),
            shell("curl -X PUT http://127.0.0.1:7070/v1/peers", before=acts.token_of_an_operator, prints='"added":true'),
            shell("curl -X PUT http://127.0.0.1:7070/v1/subscriptions", prints='"added":true'),
            shell("curl -H", before=acts.token_of_the_pair, prints='"peer":"carol"'),
            shell('curl "http://127.0.0.1:7070/v1/messages:resend', before=acts.token_of_an_operator, prints='"count":1'),
            config('"agent": "urn:agent:alice"', file="oauth.json", before=acts.secret_of_a_token_server, section=True),
            no_code("billing ", "lines of a file, as a form"),
            config("{", file="serve.json"),
        ],
        "docs/postgres.md": [
            quoted("GRANT USAGE ON SCHEMA", "tests/postgres/sql_enqueue_test.cpp"),
            left_out("with connection.transaction", "needs a server; tests/postgres/psycopg_test.py enqueues so"),
            left_out("await client.query", "needs a server; tests/postgres/node_pg_orders.mjs enqueues so"),
            left_out("ackbox move agent.db", "needs a server; tests/postgres/move_test.py moves files"),
        ],
        "docs/sql.md": [
            elsewhere("import json, sqlite3", "tests/extension/extension_test.py"),
            elsewhere("import Database", "tests/extension/node_test.sh"),
            elsewhere(".load", "tests/extension/extension_test.py"),
            elsewhere(".load", "tests/extension/extension_test.py"),
        ],
        "docs/testing.md": [
            quoted("const std::string kSchema", "examples/18_checked_handler/main.cpp"),
            quoted("testing::HandlerTrial trial", "examples/18_checked_handler/main.cpp"),
            elsewhere("wrong:", "tests/integration/CMakeLists.txt"),
        ],
        "docs/tool.md": [
            played("ackbox stats agent.db", acts.each_line_of_the_tool),
            shell("ackbox backup agent.db", before=acts.copy_of_the_outbox),
        ],
        "proto/README.md": [
            no_code("POST <the peer's inbox URL>", "a request's head, as a form"),
            no_code("counter =", "a grammar"),
            quoted('{"specversion":"1.0"', "proto/vectors/request_batch.json"),
            data('{"outbox":"1"', "ack"),
            data('{"specversion":"1.0","type":"ackbox.ack.v1"', "ack_event", member="data"),
            data('{"version":"1.0"', "agenium_frame"),
            quoted('{"type":"about:blank"', "proto/vectors/problem.json"),
            no_code("outbox-version =", "a grammar"),
            no_code("content   =", "a grammar"),
            shell("key=$(printf", before=acts.request_of_the_vectors, prints=acts.signature_of_the_vectors(setting)),
        ],
        "proto/export.md": [
            no_code("line =", "a grammar"),
            played('{"id":"order-7"', acts.enqueue_line),
        ],
        "tests/bench/README.md": [
            left_out("cmake --preset release", "measures for a quarter of an hour; one iteration of each operation is a test"),
        ],
        "tests/bench/peers/README.md": [
            left_out("tests/bench/peers/run", "measures other queues for minutes, which must be installed"),
        ],
    }
