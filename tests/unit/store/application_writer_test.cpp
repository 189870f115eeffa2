// Goal: P2, an enqueue on the application's connection commits or rolls back with the application's own rows, and a
// store on the same file goes on correctly next to it.
// Method: a business table in the same file; commits and rollbacks; then a look from the store's side.

#include "store/sqlite/outbound/application_writer.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include <functional>

#include "ackbox/error.hpp"
#include "store/sqlite/read/reader.hpp"
#include "store/sqlite/read/verify.hpp"
#include "store_world.hpp"

namespace application_writer_test {

using namespace ackbox;
using namespace ackbox::testing;

namespace {

struct Fixture {
  StoreWorld world;
  std::unique_ptr<store::sqlite::SqliteStore> store = world.open();
  SQLite::Database connection{world.file.string(), SQLite::OPEN_READWRITE};
  int commits = 0;
  std::unique_ptr<store::sqlite::ApplicationWriter> writer;

  Fixture() {
    connection.exec("CREATE TABLE orders(id INTEGER)");
    bind();
  }
  void bind() {
    writer = std::make_unique<store::sqlite::ApplicationWriter>(connection.getHandle(), world.options,
                                                                [this] { ++commits; });
  }
  int orders() { return connection.execAndGet("SELECT count(*) FROM orders").getInt(); }
  Stats stats() const { return store::sqlite::SqliteReader(world.file, world.options).stats(); }
};

Errc thrownBy(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return static_cast<Errc>(error.code().value());
  }
  return Errc{};
}

}  // namespace

TEST_CASE("P2: the enqueue commits with the business row, and the store finds it") {
  Fixture fixture;
  fixture.connection.exec("BEGIN; INSERT INTO orders VALUES(1)");
  const auto receipt = fixture.writer->enqueue(frameOf("s"));
  CHECK(receipt.isNew());
  CHECK(receipt.sequence == 1);
  CHECK(fixture.stats().pending == 0);
  CHECK(fixture.commits == 0);
  fixture.connection.exec("COMMIT");
  CHECK(fixture.commits == 1);
  CHECK(fixture.stats().pending == 1);
  CHECK(fixture.stats().enqueued == 1);
  CHECK(fixture.orders() == 1);
  CHECK(claimNew(*fixture.store).messages.at(0).frame.messageId == receipt.messageId);
}

TEST_CASE("P2: the enqueue is undone with the business row, wholly or to a savepoint of the caller's") {
  Fixture fixture;
  fixture.connection.exec("BEGIN; INSERT INTO orders VALUES(1)");
  fixture.writer->enqueue(frameOf("s"));
  fixture.connection.exec("ROLLBACK");
  CHECK(fixture.stats().enqueued == 0);
  CHECK(fixture.orders() == 0);

  fixture.connection.exec("BEGIN");
  CHECK(fixture.writer->enqueue(frameOf("s")).sequence == 1);
  fixture.connection.exec("SAVEPOINT mine");
  CHECK(fixture.writer->enqueue(frameOf("s")).sequence == 2);
  fixture.connection.exec("ROLLBACK TO mine");
  CHECK(fixture.writer->enqueue(frameOf("s")).sequence == 2);
  fixture.connection.exec("COMMIT");
  CHECK(fixture.stats().pending == 2);
}

TEST_CASE("P4: the store and the application's connection number one session together") {
  Fixture fixture;
  for (std::uint64_t sequence = 1; sequence < 10; sequence += 2) {
    CHECK(enqueueOne(*fixture.store, frameOf("s")).sequence == sequence);
    fixture.connection.exec("BEGIN");
    CHECK(fixture.writer->enqueue(frameOf("s")).sequence == sequence + 1);
    fixture.connection.exec("COMMIT");
  }
  CHECK(fixture.stats().pending == 10);
}

TEST_CASE("P2 P4: between two enqueues of the application the store may settle, and nothing of that is overwritten") {
  Fixture fixture;
  store::sqlite::SqliteStore& store = *fixture.store;
  const auto enqueueForeign = [&](const std::string& session) {
    fixture.connection.exec("BEGIN");
    const EnqueueReceipt receipt = fixture.writer->enqueue(frameOf(session));
    fixture.connection.exec("COMMIT");
    return receipt;
  };
  std::uint64_t before = 0;
  for (std::uint64_t sequence = 1; sequence <= 4; ++sequence) {
    CHECK(enqueueForeign("s").sequence == sequence);
    const store::ClaimReply reply = claimNew(store);
    REQUIRE(reply.sessions.size() == 1);
    CHECK(reply.sessions.front().previousSequence == before);
    CHECK(reply.sessions.front().confirmedSequence == before);
    const delivery::Settlement settlement = settlementOf(reply, delivery::Transition::ack);
    delivery::SessionRelease release{.session = settlement.session, .dueAt = {}, .previousSequence = sequence};
    release.dueAt = fixture.world.clock->wallNow() - std::chrono::milliseconds(sequence);
    inTransaction(store, [&] {
      REQUIRE(store.settles().settle({&settlement, 1}).front());
      store.claims().endClaims({&release, 1});
    });
    CHECK(fixture.stats().pending == 0);
    CHECK(fixture.stats().acked == sequence);
    CHECK(store.database().execAndGet("SELECT live FROM ackbox_session_states").getInt() == 0);
    before = sequence;
  }
  CHECK(store::sqlite::verify(fixture.world.file, fixture.world.options).clean());
}

TEST_CASE("P4: an application's enqueue learns of what others put into its session and into the queue meanwhile") {
  Fixture fixture;
  fixture.world.options.maxPending = 4;
  fixture.bind();
  const auto enqueueForeign = [&] {
    fixture.connection.exec("BEGIN");
    const EnqueueReceipt receipt = fixture.writer->enqueue(frameOf("s"));
    fixture.connection.exec("COMMIT");
    return receipt;
  };
  CHECK(enqueueForeign().sequence == 1);
  CHECK(enqueueOne(*fixture.store, frameOf("s")).sequence == 2);
  CHECK(enqueueOne(*fixture.store, frameOf("s")).sequence == 3);
  CHECK(enqueueForeign().sequence == 4);
  CHECK(enqueueForeign().status == EnqueueStatus::queueFull);
  REQUIRE(settleOne(*fixture.store, settlementOf(claimNew(*fixture.store), delivery::Transition::ack)));
  CHECK(enqueueForeign().sequence == 5);
  CHECK(store::sqlite::verify(fixture.world.file, fixture.world.options).clean());
}

TEST_CASE("P2: two applications and a store take turns in one session, each undoing what it likes") {
  Fixture fixture;
  SQLite::Database second(fixture.world.file.string(), SQLite::OPEN_READWRITE);
  store::sqlite::ApplicationWriter other(second.getHandle(), fixture.world.options, {});
  const auto enqueue = [&](SQLite::Database& connection, store::sqlite::ApplicationWriter& writer, const char* end) {
    connection.exec("BEGIN IMMEDIATE");
    const std::uint64_t sequence = writer.enqueue(frameOf("s")).sequence;
    connection.exec(end);
    return sequence;
  };
  for (std::uint64_t sequence = 1; sequence <= 9; sequence += 3) {
    CHECK(enqueue(fixture.connection, *fixture.writer, "ROLLBACK") == sequence);
    CHECK(enqueue(second, other, "COMMIT") == sequence);
    CHECK(enqueue(second, other, "ROLLBACK") == sequence + 1);
    CHECK(enqueue(fixture.connection, *fixture.writer, "COMMIT") == sequence + 1);
    CHECK(enqueueOne(*fixture.store, frameOf("s")).sequence == sequence + 2);
  }
  CHECK(fixture.stats().pending == 9);
  CHECK(claimNew(*fixture.store).messages.size() == 9);
  CHECK(store::sqlite::verify(fixture.world.file, fixture.world.options).clean());
}

TEST_CASE("a refused or repeated frame leaves the transaction as it was") {
  Fixture fixture;
  fixture.world.options.maxPending = 1;
  fixture.bind();
  fixture.connection.exec("BEGIN; INSERT INTO orders VALUES(1)");
  CHECK(fixture.writer->enqueue(frameOf("s", "{}", "key")).isNew());
  CHECK(fixture.writer->enqueue(frameOf("s", "{}", "key")).status == EnqueueStatus::duplicate);
  CHECK(fixture.writer->enqueue(frameOf("new session")).status == EnqueueStatus::queueFull);
  Frame stranger = frameOf("s");
  stranger.peer = "stranger";
  CHECK(fixture.writer->enqueue(stranger).status == EnqueueStatus::unknownPeer);
  fixture.connection.exec("COMMIT");
  CHECK(fixture.stats().pending == 1);
  CHECK(fixture.connection.execAndGet("SELECT count(*) FROM ackbox_sessions").getInt() == 1);
}

TEST_CASE("a failing enqueue leaves nothing of itself, and the caller's transaction goes on") {
  Fixture fixture;
  fixture.connection.exec(
      "CREATE TEMP TRIGGER broken BEFORE UPDATE ON main.ackbox_counters BEGIN SELECT raise(ABORT,'test'); END");
  fixture.connection.exec("BEGIN; INSERT INTO orders VALUES(1)");
  CHECK(thrownBy([&] { fixture.writer->enqueue(frameOf("s")); }) == Errc::databaseError);
  fixture.connection.exec("COMMIT");
  CHECK(fixture.orders() == 1);
  CHECK(fixture.connection.execAndGet("SELECT count(*) FROM ackbox_outbox").getInt() == 0);
  CHECK(fixture.connection.execAndGet("SELECT count(*) FROM ackbox_sessions").getInt() == 0);
}

TEST_CASE("an enqueue outside a transaction is refused") {
  Fixture fixture;
  CHECK(thrownBy([&] { fixture.writer->enqueue(frameOf("s")); }) == Errc::noTransaction);
}

TEST_CASE("P1: binding raises the connection to FULL, and refuses where SQLite does not let it") {
  Fixture fixture;
  fixture.connection.exec("PRAGMA synchronous=OFF");
  fixture.bind();
  CHECK(fixture.connection.execAndGet("PRAGMA synchronous").getInt() == 2);
  fixture.connection.exec("PRAGMA synchronous=NORMAL; BEGIN");
  CHECK(thrownBy([&] { fixture.bind(); }) == Errc::notDurable);
}

TEST_CASE("a peer that another process has added since is known where peers are adopted, and not otherwise") {
  Fixture fixture;
  SQLite::Database other(fixture.world.file.string(), SQLite::OPEN_READWRITE);
  other.exec("INSERT INTO ackbox_peers(name,url,agent,max_requests) VALUES('late','','',1)");
  Frame frame = frameOf("s");
  frame.peer = "late";
  fixture.connection.exec("BEGIN");
  CHECK(fixture.writer->enqueue(frame).status == EnqueueStatus::unknownPeer);
  fixture.connection.exec("ROLLBACK");
  fixture.world.options.adoptPeers = true;
  fixture.bind();
  other.exec("INSERT INTO ackbox_peers(name,url,agent,max_requests) VALUES('later','','',1)");
  frame.peer = "later";
  fixture.connection.exec("BEGIN");
  CHECK(fixture.writer->enqueue(frame).isNew());
  fixture.connection.exec("COMMIT");
}

TEST_CASE("a connection to another file, or another prefix, is refused") {
  Fixture fixture;
  SQLite::Database other(fixture.world.directory.file("other.db").string(),
                         SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  CHECK(thrownBy([&] { store::sqlite::ApplicationWriter(other.getHandle(), fixture.world.options, {}); }) ==
        Errc::schemaMissing);
  fixture.world.options.tablePrefix = "elsewhere_";
  CHECK(thrownBy([&] { fixture.bind(); }) == Errc::schemaMissing);
}

TEST_CASE("the application's connection does not checkpoint while bound, and does again afterwards") {
  Fixture fixture;
  const auto big = [&] {
    fixture.connection.exec(
        "BEGIN; CREATE TABLE IF NOT EXISTS big(a); INSERT INTO big VALUES(zeroblob(6000000));"
        "COMMIT");
  };
  const auto before = std::filesystem::file_size(fixture.world.file);
  big();
  CHECK(std::filesystem::file_size(fixture.world.file) == before);
  fixture.writer.reset();
  big();
  CHECK(std::filesystem::file_size(fixture.world.file) > before + 6'000'000);
}

TEST_CASE("P1: the application's transactions do not spill while bound, as enqueues undo savepoints in them") {
  Fixture fixture;
  const auto spill = [&] { return fixture.connection.execAndGet("PRAGMA cache_spill").getInt(); };
  CHECK(spill() == 0);
  fixture.writer.reset();
  CHECK(spill() > 0);
  fixture.connection.exec("PRAGMA cache_spill=4000");
  const int chosen = spill();
  fixture.bind();
  CHECK(spill() == 0);
  fixture.writer.reset();
  CHECK(spill() == chosen);
}

}  // namespace application_writer_test
