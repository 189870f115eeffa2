// Goal: P2: what a program enqueues in a transaction of libpqxx is delivered if that commits, under each isolation.
// Method: the real libpqxx beside a manager; commits, rollbacks, and each refusal.

#include <doctest/doctest.h>

#include <pqxx/pqxx>
#include <string>

#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_reader.hpp"
#include "ackbox/postgres.hpp"
#include "ackbox/pqxx.hpp"
#include "support/postgres_database.hpp"
#include "support/scripted_sender.hpp"

namespace pqxx_test {

using namespace ackbox;
using namespace ackbox::testing;

namespace {

Frame frame(const std::string& data) {
  Frame made;
  made.session = "s";
  made.type = "test";
  made.data = data;
  return made;
}

struct Shop {
  Shop() {
    manager.setSender(sender);
    pqxx::work work(connection);
    work.exec("CREATE TABLE orders(id integer)");
    work.commit();
  }

  PostgresDatabase database;
  std::shared_ptr<ScriptedSender> sender = ScriptedSender::always(Outcome::ack);
  OutboxManager manager = OutboxManager::open(PostgresLocation{database.location()});
  pqxx::connection connection{database.location()};
};

template <pqxx::isolation_level Isolation>
void tryIsolation(Shop& shop) {
  const std::size_t before = shop.sender->frames().size();
  {
    pqxx::transaction<Isolation> undone(shop.connection);
    undone.exec("INSERT INTO orders VALUES(1)");
    CHECK(enqueue(undone, frame("1")).sequence == before + 1);
  }
  pqxx::transaction<Isolation> work(shop.connection);
  work.exec("INSERT INTO orders VALUES(1)");
  const EnqueueReceipt receipt = enqueue(work, frame("2"));
  CHECK(receipt.isNew());
  CHECK(receipt.sequence == before + 1);
  work.commit();
  shop.manager.processAll();
  REQUIRE(shop.sender->frames().size() == before + 1);
  CHECK(shop.sender->frames().back().data == "2");
  CHECK(shop.sender->frames().back().messageId == receipt.messageId);
}

}  // namespace

TEST_CASE("P2: libpqxx: frames and business data commit or roll back together, under every isolation") {
  Shop shop;
  tryIsolation<pqxx::read_committed>(shop);
  tryIsolation<pqxx::repeatable_read>(shop);
  tryIsolation<pqxx::serializable>(shop);
  pqxx::work work(shop.connection);
  CHECK(work.exec("SELECT count(*) FROM orders")[0][0].as<int>() == 3);
  CHECK(OutboxReader(shop.manager).verify().findings.empty());
}

TEST_CASE("libpqxx: a frame keeps all that it says, and a refusal leaves the transaction as it was") {
  Shop shop;
  pqxx::work work(shop.connection);
  Frame strange = frame("{}");
  strange.peer = "nobody";
  CHECK(enqueue(work, strange).status == EnqueueStatus::unknownPeer);
  Frame latest = frame("{}");
  latest.supersedeKey = "k";
  CHECK(enqueue(work, latest).status == EnqueueStatus::invalidFrame);
  Frame whole = frame("");
  whole.id = "id-1";
  whole.idempotencyKey = "key";
  whole.priority = 7;
  whole.notBefore = WallTime(std::chrono::milliseconds(4'000'000'000'000));
  whole.expiresAt = WallTime(std::chrono::milliseconds(4'100'000'000'000));
  whole.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  whole.correlationId = "asked";
  whole.resentOf = "before";
  CHECK(enqueue(work, whole).messageId == "id-1");
  whole.id = "id-2";
  const EnqueueReceipt again = enqueue(work, whole);
  CHECK(again.status == EnqueueStatus::duplicate);
  CHECK(again.messageId == "id-1");
  CHECK(again.sequence == 1);
  CHECK_FALSE(again.isConflict);
  whole.data = "1";
  CHECK(enqueue(work, whole).isConflict);
  work.commit();
  const auto stored = OutboxReader(shop.manager).frame("id-1");
  REQUIRE(stored);
  CHECK(stored->data == "null");
  CHECK(stored->priority == 7);
  CHECK(stored->notBefore == whole.notBefore);
  CHECK(stored->expiresAt == whole.expiresAt);
  CHECK(stored->traceparent == whole.traceparent);
  CHECK(stored->correlationId == "asked");
  CHECK(stored->resentOf == "before");
  pqxx::work odd(shop.connection);
  CHECK_THROWS_AS(enqueue(odd, frame("{")), pqxx::sql_error);
}

}  // namespace pqxx_test
