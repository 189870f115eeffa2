// Goal: P2: an application enqueues in a transaction of its own, on its own connection, under every isolation; and what
// is opened is the server itself. Method: PgOutboxWriter over libpq beside a manager; a proxy that answers as a pooler.

#include <doctest/doctest.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "ackbox/error.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_reader.hpp"
#include "ackbox/postgres.hpp"
#include "support/postgres_client.hpp"
#include "support/postgres_database.hpp"
#include "support/scripted_sender.hpp"
#include "support/substituting_proxy.hpp"

namespace pg_writer_test {

using namespace ackbox;
using namespace ackbox::testing;

namespace {

Frame frame(const std::string& data = "{}") {
  Frame made;
  made.session = "s";
  made.type = "test";
  made.data = data;
  return made;
}

struct Shop {
  Shop() { manager.setSender(sender); }

  PostgresDatabase database;
  PostgresLocation location{database.location()};
  std::shared_ptr<ScriptedSender> sender = ScriptedSender::always(Outcome::ack);
  OutboxManager manager = OutboxManager::open(location);
  PostgresClient client{database.location()};
};

Errc refusal(const std::string& location) {
  try {
    static_cast<void>(OutboxManager::open(PostgresLocation{location}));
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find("pooler") != std::string::npos);
    return static_cast<Errc>(error.code().value());
  }
  return {};
}

}  // namespace

TEST_CASE("P2: frames and business data commit or roll back together, under every isolation") {
  Shop shop;
  shop.client.run("CREATE TABLE orders(id integer)");
  PgOutboxWriter writer(shop.manager, shop.client.connection.get());
  CHECK_THROWS_AS(writer.enqueue(frame()), Error);
  for (const std::string isolation : {"READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"}) {
    CAPTURE(isolation);
    const std::uint64_t before = shop.sender->frames().size();
    shop.client.run("BEGIN ISOLATION LEVEL " + isolation);
    shop.client.run("INSERT INTO orders VALUES(1)");
    CHECK(writer.enqueue(frame("1")).sequence == before + 1);
    shop.client.run("ROLLBACK");
    shop.client.run("BEGIN ISOLATION LEVEL " + isolation);
    shop.client.run("INSERT INTO orders VALUES(1)");
    CHECK(writer.enqueue(frame("2")).sequence == before + 1);
    CHECK(writer.publish(frame("3")).status == PublishStatus::noSubscriber);
    Frame strange = frame();
    strange.peer = "nobody";
    CHECK(writer.enqueue(strange).status == EnqueueStatus::unknownPeer);
    CHECK(shop.client.run("COMMIT").empty());
    shop.manager.processAll();
    REQUIRE(shop.sender->frames().size() == before + 1);
    CHECK(shop.sender->frames().back().data == "2");
  }
  CHECK(shop.client.run("SELECT count(*) FROM orders") == "3");
  CHECK(OutboxReader(shop.manager).verify().findings.empty());
}

TEST_CASE("P2: a connection whose texts are not in UTF-8 is refused, because the server would change names") {
  Shop shop;
  PgOutboxWriter writer(shop.client.connection.get());
  shop.client.run("SET client_encoding TO LATIN1");
  shop.client.run("BEGIN");
  CHECK_THROWS_WITH_AS(writer.enqueue(frame()), doctest::Contains("client_encoding is LATIN1"), Error);
  CHECK_THROWS_WITH_AS(PgOutboxWriter(shop.client.connection.get()), doctest::Contains("client_encoding"), Error);
  shop.client.run("SET client_encoding TO UTF8");
  CHECK(writer.enqueue(frame()).accepted());
  CHECK(shop.client.run("COMMIT").empty());
}

TEST_CASE("P12: an enqueue that waits for room is not failed for a lock of another one's session") {
  const PostgresDatabase database;
  OutboxOptions options;
  options.busyTimeout = std::chrono::milliseconds(20);
  OutboxManager manager = OutboxManager::open(PostgresLocation{database.location()}, options);
  const PostgresClient application(database.location());
  application.run("BEGIN");
  REQUIRE(application.enqueue("'default','s','test','{}'") == "stored 1");
  std::vector<std::future<std::error_code>> ends;
  for (const std::string session : {"t", "s", "u", "s", "v"}) {
    auto end = std::make_shared<std::promise<std::error_code>>();
    ends.push_back(end->get_future());
    Frame waiting = frame();
    waiting.session = session;
    manager.enqueueThen(waiting, WhenFull::wait,
                        [end](std::error_code error, const EnqueueReceipt&) { end->set_value(error); });
  }
  std::string told;
  for (std::future<std::error_code>& end : ends) {
    const std::error_code error = end.get();
    told += !error ? "stored " : error == Errc::databaseBusy ? "busy " : "? ";
  }
  CHECK(told == "stored busy stored busy stored ");
  application.run("ROLLBACK");
  CHECK(manager.getStats().pending == 3);
}

TEST_CASE("P1: a transaction with an enqueue or a publish waits for its sync, as the options say; others do not") {
  Shop shop;
  shop.client.run("SET synchronous_commit=off");
  PgOutboxWriter writer(shop.client.connection.get());
  OutboxOptions options;
  options.durability = Durability::processCrash;
  PgOutboxWriter fast(shop.client.connection.get(), options);
  const auto settingAfter = [&](const auto& enqueue) {
    shop.client.run("BEGIN");
    enqueue();
    const std::string setting = shop.client.run("SHOW synchronous_commit");
    shop.client.run("COMMIT");
    CHECK(shop.client.run("SHOW synchronous_commit") == "off");
    return setting;
  };
  CHECK(settingAfter([&] { writer.enqueue(frame()); }) == "on");
  CHECK(settingAfter([&] { writer.publish(frame()); }) == "on");
  CHECK(settingAfter([&] { fast.enqueue(frame()); }) == "off");
  CHECK(settingAfter([&] { fast.publish(frame()); }) == "off");
}

TEST_CASE("a writer needs no manager, and knows the peers of the database") {
  Shop shop;
  PgOutboxWriter writer(shop.client.connection.get());
  shop.client.run("BEGIN");
  CHECK(writer.enqueue(frame()).accepted());
  shop.client.run("COMMIT");
  shop.manager.processAll();
  CHECK(shop.sender->frames().size() == 1);
  const PostgresDatabase empty;
  const PostgresClient other(empty.location());
  CHECK_THROWS_AS(PgOutboxWriter(other.connection.get()), Error);
}

TEST_CASE("P3: while the server is out of reach, calls fail as ones that may be repeated, and afterwards all goes on") {
  Shop shop;
  shop.manager.start();
  CHECK(shop.manager.enqueue(frame()).accepted());
  shop.sender->waitForFrames(1);
  PostgresServer::get().run("ALTER DATABASE " + shop.database.name() + " ALLOW_CONNECTIONS false");
  PostgresServer::get().run("SELECT count(pg_terminate_backend(pid,10000)) FROM pg_stat_activity WHERE datname='" +
                            shop.database.name() + "'");
  const auto codeOf = [](const auto& call) -> std::error_code {
    try {
      call();
    } catch (const Error& error) {
      return error.code();
    }
    return {};
  };
  CHECK(isRetryable(codeOf([&] { shop.manager.enqueue(frame()); })));
  CHECK(isRetryable(codeOf([&] { static_cast<void>(shop.manager.getStats()); })));
  CHECK(shop.manager.isDelivering());
  PostgresServer::get().run("ALTER DATABASE " + shop.database.name() + " ALLOW_CONNECTIONS true");
  CHECK(shop.manager.enqueue(frame()).sequence == 2);
  shop.sender->waitForFrames(2);
  CHECK(shop.manager.getStats().enqueued == 2);
  shop.manager.stop();
}

TEST_CASE("a manager is not opened behind a pooler") {
  const PostgresDatabase database;
  const std::string socket = "/.s.PGSQL.5432";
  // A pooler names a process of its own: message K, of 12 bytes.
  const SubstitutingProxy pooler(PostgresServer::get().folder() + socket, std::string("K\0\0\0\x0c", 5),
                                 std::string("\0\0\0\x07", 4));
  CHECK(refusal("host=" + pooler.folder() + " user=postgres dbname=" + database.name()) == Errc::pooledConnection);
  CHECK(database.run("SELECT to_regnamespace('ackbox') IS NULL") == "t");
}

TEST_CASE("the name of a location has no password") {
  const auto nameOf = [](const std::string& text) -> std::string {
    try {
      static_cast<void>(OutboxReader::open(PostgresLocation{text}));
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  };
  const std::string what = nameOf("postgres://agent:secret@127.0.0.1:1/orders");
  CHECK(what.find("secret") == std::string::npos);
  CHECK_FALSE(what.empty());
  for (const char* const text :
       {"postgres://agent:SE/CRET@127.0.0.1:1/orders", "postgres://agent:SE@CRET@127.0.0.1:1/orders",
        "postgres:/agent:SECRET@127.0.0.1/orders"}) {
    CAPTURE(text);
    CHECK(nameOf(text).find("CRET") == std::string::npos);
    CHECK_FALSE(nameOf(text).empty());
  }
}

}  // namespace pg_writer_test
