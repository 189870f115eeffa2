// Goal: P12: a transaction of an application that stays open keeps out what needs its locks, for a bounded time, and
// nothing else; P4: what it has kept out is not overtaken in its session; P3 at the same time as a reset.
// Method: a client that enqueues and does not commit; a writer without a thread, whose groups the test runs.

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "ackbox/error.hpp"
#include "ackbox/publication.hpp"
#include "store/kept_out.hpp"
#include "store/postgres/outbound/application_writer.hpp"
#include "store/postgres/postgres_store.hpp"
#include "store/postgres/read/reader.hpp"
#include "store/writer.hpp"
#include "store_conformance/inbound.hpp"
#include "store_conformance/messages.hpp"
#include "support/manual_clock.hpp"
#include "support/postgres_client.hpp"
#include "support/postgres_database.hpp"

namespace locks_test {

using namespace ackbox;
using namespace ackbox::testing;
using store::postgres::PostgresStore;

namespace {

constexpr std::chrono::minutes kLong(10);

OutboxOptions patient(std::chrono::milliseconds patience) {
  OutboxOptions options;
  options.busyTimeout = patience;
  return options;
}

class Enqueue final : public store::Job {
public:
  explicit Enqueue(Frame frame) : frame_(std::move(frame)) { durable = true; }
  explicit Enqueue(
      const std::string& session, std::function<void()> before = [] {})
      : frame_(frameOf(session)), before_(std::move(before)) {
    durable = true;
  }

  void run(store::Store& store) override {
    before_();
    receipt = store.outbox().enqueue(frame_);
  }
  void announce(std::vector<const Frame*>& frames) const override { frames.push_back(&frame_); }
  void done(const std::error_code& error) noexcept override {
    isDone = true;
    failure = error;
  }

  EnqueueReceipt receipt;
  bool isDone = false;
  std::error_code failure;

private:
  const Frame frame_;
  const std::function<void()> before_ = [] {};
};

struct Shop {
  explicit Shop(std::chrono::milliseconds patience) : Shop(patient(patience)) {}
  explicit Shop(OutboxOptions given) : options(std::move(given)) {}

  const PostgresDatabase database;
  const OutboxOptions options;
  PostgresStore store{database.location(), options};
  store::Writer writer{store};
  const PostgresClient application{database.location()};
};

}  // namespace

TEST_CASE("P4 P12: an open transaction keeps out the enqueues to its session, in their order, and no other job") {
  Shop shop(kLong);
  shop.application.run("BEGIN");
  REQUIRE(shop.application.enqueue("'default','s','test','{}'") == "stored 1");
  Enqueue held("s");
  Enqueue after("s");
  Enqueue free("t");
  for (Enqueue* const job : {&held, &after, &free}) {
    shop.writer.submit(*job);
  }
  CHECK(shop.writer.runOnce());
  CHECK(free.isDone);
  CHECK_FALSE(free.failure);
  // A lone job does not pass either.
  Enqueue later("s");
  CHECK_FALSE(shop.writer.commitHere(later));
  Enqueue other("t");
  shop.writer.submit(later);
  shop.writer.submit(other);
  CHECK(shop.writer.runOnce());
  CHECK(other.isDone);
  // What is kept out is tried again without a new job.
  CHECK(shop.writer.runOnce());
  CHECK_FALSE((held.isDone || after.isDone || later.isDone));
  shop.application.run("COMMIT");
  CHECK(shop.writer.runOnce());
  CHECK(held.receipt.sequence == 2);
  CHECK(after.receipt.sequence == 3);
  CHECK(later.receipt.sequence == 4);
  for (const Enqueue* const job : {&held, &after, &later, &other}) {
    CHECK(job->isDone);
    CHECK_FALSE(job->failure);
  }
  CHECK_FALSE(shop.writer.runOnce());
}

TEST_CASE("P4: what is kept out is not overtaken, though its session becomes free before the next job's turn") {
  Shop shop(kLong);
  shop.application.run("BEGIN");
  shop.application.enqueue("'default','s','test','{}'");
  Enqueue held("s");
  Enqueue freeing("t", [&] { shop.application.run("COMMIT"); });
  Enqueue after("s");
  for (Enqueue* const job : {&held, &freeing, &after}) {
    shop.writer.submit(*job);
  }
  while (shop.writer.runOnce()) {
  }
  CHECK(held.receipt.sequence == 2);
  CHECK(after.receipt.sequence == 3);
}

TEST_CASE("P4: a publish that is kept out is not overtaken in its session, nor overtakes, whichever peers get it") {
  Shop shop(kLong);
  shop.application.run("BEGIN");
  shop.application.enqueue("'default','s','test','{}'");
  Frame toAll = frameOf("s");
  toAll.peer = kAllSubscribers;
  Frame unordered = frameOf("");
  unordered.peer = kAllSubscribers;
  Enqueue published(toAll);
  Enqueue after("s");
  Enqueue other("t");
  Enqueue another(unordered);
  store::KeptOut kept;
  kept.add(published);
  CHECK(kept.isBefore(after));
  CHECK_FALSE(kept.isBefore(other));
  CHECK_FALSE(kept.isBefore(another));
  CHECK(kept.takeAll() == &published);
  CHECK_FALSE(kept.isBefore(after));
  kept.add(other);
  kept.add(after);
  CHECK(kept.isBefore(published));
  CHECK_FALSE(kept.isBefore(another));
}

TEST_CASE("P12: who waits for an open transaction is told that the database is busy, after busyTimeout") {
  const auto clock = std::make_shared<ManualClock>();
  OutboxOptions options = patient(std::chrono::milliseconds(50));
  options.clock = clock;
  Shop shop(options);
  shop.application.run("BEGIN");
  shop.application.enqueue("'default','s','test','{}',idempotency_key=>'k'");
  Enqueue held("s");
  Enqueue after("s");
  // The key is the application's, too.
  Enqueue repeated(keyed("k", "u"));
  CHECK_FALSE(shop.writer.commitHere(held));
  for (Enqueue* const job : {&held, &after, &repeated}) {
    shop.writer.submit(*job);
  }
  CHECK(shop.writer.runOnce());
  clock->advance(std::chrono::milliseconds(49));
  CHECK(shop.writer.runOnce());
  CHECK_FALSE((held.isDone || after.isDone || repeated.isDone));
  clock->advance(std::chrono::milliseconds(1));
  CHECK(shop.writer.runOnce());
  for (const Enqueue* const job : {&held, &after, &repeated}) {
    CHECK(job->failure == Errc::databaseBusy);
  }
  CHECK(held.why().find("lock timeout") != std::string::npos);
  CHECK_FALSE(shop.writer.runOnce());
}

TEST_CASE("P12: behind each group some of those that wait for locks are tried, in turn, and all are told in time") {
  constexpr int kMany = 20;
  constexpr int kATime = 16;
  const auto clock = std::make_shared<ManualClock>();
  OutboxOptions options = patient(kLong);
  options.clock = clock;
  Shop shop(options);
  int tries = 0;
  store::Writer writer(shop.store, {}, [&](const std::error_code& /*error*/, const std::string& /*why*/) { ++tries; });
  shop.application.run("BEGIN");
  std::deque<Enqueue> held;
  for (int number = 0; number < kMany; ++number) {
    const std::string session = "s" + std::to_string(number);
    shop.application.enqueue("'default','" + session + "','test','{}'");
    writer.submit(held.emplace_back(session));
  }
  CHECK(writer.runOnce());
  const auto triedIn = [&] {
    tries = 0;
    CHECK(writer.runOnce());
    return tries;
  };
  CHECK(triedIn() == kMany - kATime);
  CHECK(triedIn() == kATime);
  CHECK(triedIn() == kMany - kATime);
  SUBCASE("each is kept once it can be") {
    shop.application.run("COMMIT");
    while (writer.runOnce()) {
    }
    CHECK(std::ranges::all_of(held, [](const Enqueue& job) { return job.receipt.sequence == 2; }));
  }
  SUBCASE("each is told once its time is over, though it is not its turn") {
    clock->advance(kLong);
    CHECK(triedIn() == kATime);
    CHECK(std::ranges::all_of(held, [](const Enqueue& job) {
      return job.failure == Errc::databaseBusy && job.why().find("lock timeout") != std::string::npos;
    }));
  }
}

TEST_CASE("P12: a lock that lets no transaction begin is waited for, too, and tried once behind each group") {
  const auto clock = std::make_shared<ManualClock>();
  OutboxOptions options = patient(std::chrono::seconds(5));
  options.clock = clock;
  Shop shop(options);
  int tries = 0;
  store::Writer writer(shop.store, {}, [&](const std::error_code& /*error*/, const std::string& /*why*/) { ++tries; });
  shop.application.run("BEGIN; LOCK TABLE ackbox.schema IN ACCESS EXCLUSIVE MODE");
  Enqueue first("s");
  Enqueue second("t");
  CHECK_FALSE(writer.commitHere(first));
  for (Enqueue* const job : {&first, &second}) {
    writer.submit(*job);
  }
  CHECK(writer.runOnce());
  tries = 0;
  CHECK(writer.runOnce());
  CHECK(tries == 1);
  CHECK_FALSE((first.isDone || second.isDone));
  SUBCASE("until it is free") {
    shop.application.run("ROLLBACK");
    while (writer.runOnce()) {
    }
    CHECK(first.receipt.isNew());
    CHECK(second.receipt.isNew());
  }
  SUBCASE("up to busyTimeout") {
    clock->advance(std::chrono::seconds(5));
    CHECK(writer.runOnce());
    CHECK(first.failure == Errc::databaseBusy);
    CHECK(second.failure == Errc::databaseBusy);
  }
}

TEST_CASE("P12: a claim passes over what another process is claiming in an open transaction, and waits for nothing") {
  const PostgresDatabase database;
  PostgresStore stopped(database.location(), {});
  PostgresStore store(database.location(), {});
  for (const char* const session : {"a", "b", "", ""}) {
    enqueueOne(store, frameOf(session));
  }
  std::vector<delivery::SessionClaim> asked;
  for (const delivery::RowSeen& row : store.discovery().take(10).rows) {
    const bool isUnit = store.discovery().sessionName(row.session).empty();
    asked.push_back({isUnit ? delivery::unitOf(row.key) : row.session, {row.key}});
  }
  REQUIRE(asked.size() == 4);
  const std::vector<delivery::SessionClaim> first{asked[0], asked[2]};
  // In this test's one thread, a statement that waited would be refused after its `lock_timeout`.
  stopped.begin(false);
  CHECK(stopped.claims().claim(first).messages.size() == 2);
  const store::ClaimReply reply = claimOf(store, asked);
  const delivery::ClaimStatus expected[] = {delivery::ClaimStatus::busy, delivery::ClaimStatus::claimed,
                                            delivery::ClaimStatus::busy, delivery::ClaimStatus::claimed};
  for (std::size_t index = 0; index < 4; ++index) {
    CAPTURE(index);
    CHECK(reply.sessions[index].status == expected[index]);
  }
  stopped.commit();
  CHECK(claimOf(store, asked[0]).sessions.front().status == delivery::ClaimStatus::busy);
}

TEST_CASE("P12: what a process has in flight is settled though another one that asked for it stands still") {
  const PostgresDatabase database;
  PostgresStore stopped(database.location(), {});
  PostgresStore store(database.location(), {});
  for (const char* const session : {"a", "", ""}) {
    enqueueOne(store, frameOf(session));
  }
  std::vector<delivery::SessionClaim> asked;
  for (const delivery::RowSeen& row : store.discovery().take(10).rows) {
    const bool isUnit = store.discovery().sessionName(row.session).empty();
    asked.push_back({isUnit ? delivery::unitOf(row.key) : row.session, {row.key}});
  }
  const store::ClaimReply held = claimOf(store, asked);
  REQUIRE(held.messages.size() == 3);
  std::size_t frames = 3;
  SUBCASE("it asked for as much as it may take") {}
  SUBCASE("it asked for more") {
    frames = 1;
  }
  stopped.begin(false);
  const store::ClaimReply reply = stopped.claims().claim(asked, 0, 1U << 20U, frames);
  CHECK(reply.messages.empty());
  for (const delivery::SessionClaimed& session : reply.sessions) {
    CHECK(session.status == delivery::ClaimStatus::busy);
  }
  // In this test's one thread, a statement that waited would be refused after its `lock_timeout`.
  const delivery::SessionRelease released{.session = asked[0].session, .dueAt = {}, .previousSequence = 1};
  inTransaction(store, [&] {
    for (std::size_t index = 0; index < 3; ++index) {
      const auto acked = settlementOf(held, delivery::Transition::ack, index);
      CHECK(store.settles().settle({&acked, 1}).front().has_value());
    }
    store.claims().endClaims({&released, 1});
  });
  stopped.rollback();
}

TEST_CASE("P12: a delivery goes on, and waits for nothing, while a transaction changes its session's priority") {
  Shop shop(kLong);
  enqueueOne(shop.store, frameOf("s"));
  const store::ClaimReply reply = claimNew(shop.store);
  shop.application.run("BEGIN");
  REQUIRE(shop.application.enqueue("'default','s','test','{}',priority=>9") == "stored 2");
  const auto acked = settlementOf(reply, delivery::Transition::ack);
  CHECK(settleOne(shop.store, acked));
  const delivery::SessionRelease release{.session = acked.session, .dueAt = {}, .previousSequence = 1};
  CHECK_NOTHROW(inTransaction(shop.store, [&] { shop.store.claims().endClaims({&release, 1}); }));
  shop.application.run("COMMIT");
  CHECK(claimNew(shop.store).sessions.at(0).priority == 9);
}

TEST_CASE("P12: a message that is being sent is settled while a transaction supersedes its key") {
  Shop shop(kLong);
  enqueueOne(shop.store, latest("k"));
  const store::ClaimReply reply = claimNew(shop.store);
  store::postgres::ApplicationWriter theirs(shop.application.connection.get(), shop.options);
  shop.application.run("BEGIN");
  CHECK(theirs.enqueue(latest("k")).supersededId.empty());
  CHECK(settleOne(shop.store, settlementOf(reply, delivery::Transition::ack)));
  shop.application.run("COMMIT");
}

TEST_CASE("P3: what a peer acknowledged before its reset is sent again, whichever of the two is committed first") {
  OutboxOptions options = patient(kLong);
  options.ackedRetention = std::chrono::hours(1);
  options.peerReset = PeerResetPolicy::resend;
  Shop shop(options);
  PostgresStore other(shop.database.location(), options);
  const auto tell = [](PostgresStore& store, const std::string& name, std::optional<PeerResetKind> found) {
    return store.peerResets().recordIdentity(
        {.peer = store.peers().rows().front().key, .found = found, .store = name, .storeEpoch = 1});
  };
  enqueueOne(shop.store, frameOf("s"));
  delivery::Settlement acked = settlementOf(claimNew(shop.store), delivery::Transition::ack);
  inTransaction(shop.store, [&] { return tell(shop.store, "one", {}); });

  shop.store.begin(false);
  CHECK(shop.store.settles().settle({&acked, 1}).front());
  other.begin(false);
  CHECK_THROWS_AS(tell(other, "two", PeerResetKind::peerLost), Error);
  other.rollback();
  shop.store.commit();
  const auto reset = inTransaction(other, [&] { return tell(other, "two", PeerResetKind::peerLost); });
  CHECK(reset->resent == 1);

  // It notices what is back.
  inTransaction(shop.store, [] {});
  acked = settlementOf(claimNew(shop.store), delivery::Transition::ack);
  acked.recalls = std::stoll(shop.database.run("SELECT recalls FROM ackbox.meta"));
  other.begin(false);
  CHECK(tell(other, "three", PeerResetKind::peerLost));
  CHECK_THROWS_AS(settleOne(shop.store, acked), Error);
  shop.store.rollback();
  other.commit();
  CHECK_FALSE(settleOne(shop.store, acked));
  const store::postgres::PostgresReader reader(shop.database.location(), options);
  CHECK(reader.stats().pending == 1);
  CHECK(reader.stats().ackedRetained == 0);
}

TEST_CASE("a sender's sessions are not passed over while another transaction holds them") {
  Shop shop(std::chrono::milliseconds(1));
  acceptFrame(shop.store, inboundFrame(1));
  shop.application.run("BEGIN");
  REQUIRE(shop.application.run("SELECT session FROM ackbox.inbound_sessions FOR UPDATE") == "s");
  store::ForgetPlace place;
  const auto forget = [&] {
    return inTransaction(shop.store,
                         [&] { return shop.store.inboundMarks().forgetSender("urn:peer", {}, place, 100); });
  };
  CHECK_THROWS_AS(forget(), Error);
  shop.store.rollback();
  CHECK(shop.store.failedFor() == store::FailedFor::lock);
  shop.application.run("COMMIT");
  place = {};
  CHECK(forget().kept == 1);
}

TEST_CASE("P12: what another process has forgotten of a sender meanwhile is not taken off its share once more") {
  Shop shop(kLong);
  FrameResult refused;
  refused.outcome = Outcome::term;
  FrameResult done;
  done.outcome = Outcome::ack;
  finishRow(shop.store, claimRow(shop.store, acceptFrame(shop.store, inboundFrame(1))).row, refused);
  finishRow(shop.store, claimRow(shop.store, acceptFrame(shop.store, inboundFrame(0, ""))).row, done);
  const auto kept = [&](const std::string& table) { return shop.database.run("SELECT count(*) FROM ackbox." + table); };
  REQUIRE(kept("inbox_results") == "1");
  REQUIRE(kept("processed_messages") != "0");
  // As of rows that are read, and have gone before they are deleted.
  shop.database.run("CREATE FUNCTION keeping() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'");
  for (const char* const table : {"inbox_results", "processed_messages"}) {
    shop.database.run(std::string("CREATE TRIGGER keeping BEFORE DELETE ON ackbox.") + table +
                      " FOR EACH ROW EXECUTE FUNCTION keeping()");
  }
  store::ForgetPlace place;
  const ForgetReport report =
      inTransaction(shop.store, [&] { return shop.store.inboundMarks().forgetSender("urn:peer", {}, place, 100); });
  CHECK(report.marks == 0);
  const store::postgres::PostgresReader reader(shop.database.location(), shop.options);
  CHECK(reader.verify().findings.empty());
}

TEST_CASE("a refused enqueue leaves no session behind") {
  OutboxOptions options;
  options.maxPending = 1;
  options.frameBytesMax = 1'000;
  const PostgresDatabase database;
  PostgresStore store(database.location(), options);
  store::Writer writer(store);
  CHECK(enqueueOne(store, frameOf("s")).accepted());
  Enqueue full("t");
  Enqueue replacing(latest("k", "{}", "u"));
  Enqueue large(frameOf("v", "\"" + std::string(2'000, 'x') + "\""));
  for (Enqueue* const job : {&full, &replacing, &large}) {
    writer.submit(*job);
  }
  CHECK(writer.runOnce());
  CHECK((full.receipt.status == EnqueueStatus::queueFull));
  CHECK((replacing.receipt.status == EnqueueStatus::queueFull));
  CHECK((large.receipt.status == EnqueueStatus::frameTooLarge));
  CHECK(database.run("SELECT string_agg(name,' ') FROM ackbox.sessions") == "s");
}

}  // namespace locks_test
