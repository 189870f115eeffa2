// Goal: what the tool and the daemon print of an outbox's place shows no password. Method: compare texts.

#include "location/location.hpp"

#include <doctest/doctest.h>

namespace ackbox::location_test {

TEST_CASE("a URL is shown without its user, password and parameters") {
  CHECK(location::shown("postgres://db.example/orders") == "postgres://db.example/orders");
  CHECK(location::shown("postgresql://agent:secret@db.example:5433/orders") == "postgresql://db.example:5433/orders");
  CHECK(location::shown("postgres://agent:se/cret@db.example/orders") == "postgres://...");
  CHECK(location::shown("postgres://agent:12/34@db.example/orders") == "postgres://...");
  CHECK(location::shown("postgres://db.example/orders?user=agent&password=secret@x") == "postgres://db.example/orders");
  CHECK(location::shown("postgres://agent:a?secret@db.example/orders?sslmode=require") ==
        "postgres://db.example/orders");
  CHECK(location::shown("postgres://agent:secret@db.example") == "postgres://db.example");
  CHECK(location::shown("postgres:///orders?password=secret") == "postgres:///orders");
}

TEST_CASE("a file is shown as it was named") {
  CHECK(location::shown("out@box?.db") == "out@box?.db");
  CHECK(location::shown("POSTGRES://agent:secret@db/orders") == "postgres://...");
  CHECK(location::shown("postgres:/agent:secret@db/orders") == "postgres://...");
  CHECK(location::shown("host=db password=secret dbname=orders") == "postgres://...");
  CHECK(location::isUrl("host=db password=secret dbname=orders"));
  CHECK_FALSE(location::isUrl("backups/host=db.db"));
}

}  // namespace ackbox::location_test
