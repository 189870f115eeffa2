// Goal: where an owner has the file to itself, one lone message after the other costs no write of its claim; and nobody
// is told wrong by it, nor held up, whoever comes next and whenever that is.
// Method: stores and foreign writers on one file; the pages that commits write; and what others read.

#include <doctest/doctest.h>
#include <sqlite3.h>

#include <SQLiteCpp/SQLiteCpp.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "ackbox/diagnosis.hpp"
#include "ackbox/message_page.hpp"
#include "store/early_claim.hpp"
#include "store/foreign_writer.hpp"
#include "store/reader.hpp"
#include "store/verify.hpp"
#include "store_world.hpp"

namespace ackbox::testing {
namespace {

constexpr delivery::PeerKey kPeer = 1;

delivery::SessionRelease releaseOf(const store::ClaimReply& claimed) {
  delivery::SessionRelease release;
  release.session = claimed.sessions.front().session;
  return release;
}

struct Covering {
  Covering() {
    world.lives = std::make_shared<Lives>();
    store = world.open();
  }

  /// Stored and claimed at once.
  store::ClaimReply claim(const std::string& session) const {
    store->earlyClaim().allow(kPeer);
    enqueueOne(*store, frameOf(session));
    std::optional<store::ClaimReply> claimed = store->takeNewRows(10).claimed;
    REQUIRE(claimed);
    store->earlyClaim().settle();
    return *claimed;
  }
  void settle(const store::ClaimReply& claimed, delivery::Transition transition = delivery::Transition::ack) const {
    const delivery::SessionRelease release = releaseOf(claimed);
    delivery::Settlement settlement = settlementOf(claimed, transition);
    settlement.reason = transition == delivery::Transition::fail ? "rejected" : "";
    inTransaction(*store, [&] {
      CHECK(store->settle({&settlement, 1}).front());
      store->release({&release, 1});
    });
  }
  void deliver(const std::string& session) const { settle(claim(session)); }

  [[nodiscard]] std::int64_t claimsInFile() const {
    return store->database().execAndGet("SELECT count(*) FROM ackbox_claims").getInt64();
  }
  [[nodiscard]] int pagesWritten() const {
    int pages = 0;
    int highest = 0;
    sqlite3_db_status(store->database().getHandle(), SQLITE_DBSTATUS_CACHE_WRITE, &pages, &highest, 1);
    return pages;
  }

  StoreWorld world;
  std::unique_ptr<store::Store> store;
};

}  // namespace

TEST_CASE("lone messages write no claims, whichever of a few sessions they are in, as often as there are 64 of them") {
  const Covering covering;
  covering.deliver("s");
  covering.deliver("t");
  int claiming = 0;
  int settling = 0;
  for (int message = 0; message < 128; ++message) {
    static_cast<void>(covering.pagesWritten());
    const store::ClaimReply claimed = covering.claim(message % 2 == 0 ? "s" : "t");
    claiming += covering.pagesWritten();
    covering.settle(claimed);
    settling += covering.pagesWritten();
  }
  // The message; two blocks of ids begun, and a page of messages or two that filled up.
  CHECK(claiming >= 128);
  CHECK(claiming <= 128 + 2 + 4);
  // The message, the session's state, the counters.
  CHECK(settling >= 3 * 128);
  CHECK(settling <= 3 * 128 + 4);
  CHECK(covering.claimsInFile() == 2);
}

TEST_CASE("P9: however many sessions there were, few claims stand") {
  const Covering covering;
  std::int64_t most = 0;
  for (int session = 0; session < 64 * 12; ++session) {
    covering.deliver(std::to_string(session));
    most = std::max(most, covering.claimsInFile());
  }
  CHECK(most > 2);
  CHECK(most <= 9);
}

TEST_CASE("two messages in turn write claims no oftener than exact ones") {
  const Covering covering;
  covering.deliver("s");
  store::ClaimReply inFlight = covering.claim("s");
  for (int message = 0; message < 20; ++message) {
    enqueueOne(*covering.store, frameOf("s"));
    CHECK(covering.store->database().execAndGet("SELECT count(*) FROM ackbox_claims WHERE bits=-1").getInt() == 0);
    const delivery::Settlement settlement = settlementOf(inFlight, delivery::Transition::ack);
    const delivery::RowSeen row = covering.store->takeNewRows(10).rows.back();
    const delivery::SessionClaim next{row.session, {row.key}};
    inFlight = inTransaction(*covering.store, [&] {
      CHECK(covering.store->settle({&settlement, 1}).front());
      return covering.store->claim({&next, 1});
    });
    REQUIRE(inFlight.messages.size() == 1);
    CHECK(covering.store->database().execAndGet("SELECT count(*) FROM ackbox_claims WHERE bits=-1").getInt() == 0);
  }
}

TEST_CASE("P10: what is covered beside another live message, or another owner, or for no message, is found") {
  const Covering covering;
  covering.deliver("s");
  SQLite::Database& database = covering.store->database();
  std::string problem = "it covers more than one live message, or another owner's";
  SUBCASE("two are pending") {
    inTransaction(*covering.store, [&] {
      covering.store->enqueue(frameOf("s"));
      covering.store->enqueue(frameOf("s"));
    });
    CHECK(store::verify(covering.world.file, covering.world.options).clean());
    database.exec("INSERT INTO ackbox_claims SELECT 0,id,-1 FROM ackbox_owners");
  }
  SUBCASE("one is pending, one is sent") {
    covering.settle(covering.claim("s"), delivery::Transition::defer);
    enqueueOne(*covering.store, frameOf("s"));
    CHECK(store::verify(covering.world.file, covering.world.options).clean());
    database.exec("INSERT INTO ackbox_claims SELECT 0,id,-1 FROM ackbox_owners");
  }
  SUBCASE("none") {
    database.exec("DELETE FROM ackbox_claims WHERE block>=0");
    problem = "it covers sessions and no message";
  }
  SUBCASE("two have the file open") {
    database.exec("INSERT INTO ackbox_owners SELECT id+1,pid,opened_at_ms FROM ackbox_owners");
  }
  const VerifyReport report = store::verify(covering.world.file, covering.world.options);
  REQUIRE(report.findings.size() == 1);
  CHECK(report.findings.front().problem == problem);
}

TEST_CASE("P7: who comes robs nobody, though the counters are wrong") {
  const Covering covering;
  covering.deliver("s");
  inTransaction(*covering.store, [&] {
    covering.store->enqueue(frameOf("s"));
    covering.store->enqueue(frameOf("t"));
    // Counts them.
    covering.store->countDuplicate();
  });
  SQLite::Database& database = covering.store->database();
  database.exec("UPDATE ackbox_counters SET pending=1; INSERT INTO ackbox_claims SELECT 0,id,-1 FROM ackbox_owners");
  const auto other = covering.world.open();
  CHECK(database.execAndGet("SELECT bits FROM ackbox_claims").getInt64() == -1);
}

TEST_CASE("who has the file open is known also after a burial that was rolled back") {
  const Covering covering;
  const auto other = covering.world.open();
  covering.world.lives->erase(other->owner());
  covering.store->begin(false);
  CHECK(covering.store->buryDeadOwners() == 1);
  covering.store->rollback();
  inTransaction(*covering.store, [] {});
  CHECK(covering.store->shared());
}

TEST_CASE("what stands of a claim is told to nobody") {
  Covering covering;
  covering.deliver("s");
  // A dead letter among the ids.
  covering.settle(covering.claim("s"), delivery::Transition::fail);
  covering.deliver("s");
  REQUIRE(covering.claimsInFile() != 0);
  const store::Reader reader(covering.world.file, covering.world.options);
  CHECK(reader.stats().sending == 0);
  CHECK(reader.stats().pending == 0);
  CHECK_FALSE(reader.sessionStats(covering.store->peers().front().name, "s").value().inFlight);
  MessageFilter sending;
  sending.state = MessageState::sending;
  CHECK(reader.messages(sending, 10, 0).messages.empty());
  CHECK(store::verify(covering.world.file, covering.world.options).clean());
  const store::ClaimReply claimed = covering.claim("s");
  CHECK(reader.stats().sending == 1);
  CHECK(reader.stats().pending == 0);
  CHECK(reader.sessionStats(covering.store->peers().front().name, "s").value().inFlight);
  CHECK(reader.messages(sending, 10, 0).messages.size() == 1);
  CHECK(store::verify(covering.world.file, covering.world.options).clean());
  covering.settle(claimed);
}

TEST_CASE("a second live message, one that waits, and one that is only stored leave what is claimed exact") {
  const Covering covering;
  covering.deliver("s");
  SUBCASE("two live") {
    const store::ClaimReply claimed = covering.claim("s");
    enqueueOne(*covering.store, frameOf("s"));
    CHECK(covering.store->database().execAndGet("SELECT count(*) FROM ackbox_claims WHERE bits=-1").getInt() == 0);
    CHECK(covering.claimsInFile() == 2);
    covering.settle(claimed);
    CHECK(covering.claimsInFile() == 0);
  }
  SUBCASE("one is put back") {
    covering.settle(covering.claim("s"), delivery::Transition::retry);
    CHECK(covering.claimsInFile() == 0);
  }
  SUBCASE("without leave") {
    enqueueOne(*covering.store, frameOf("s"));
    CHECK(covering.claimsInFile() == 0);
  }
  SUBCASE("a scope that is undone") {
    inTransaction(*covering.store, [&] {
      covering.store->savepoint();
      covering.store->rollbackToSavepoint();
    });
    CHECK(covering.claimsInFile() == 0);
    covering.deliver("s");
    CHECK(covering.claimsInFile() != 0);
  }
}

TEST_CASE("P7: who opens the file finds claimed what is in flight, and nothing else, before its owner does anything") {
  Covering covering;
  covering.deliver("s");
  std::optional<store::ClaimReply> inFlight;
  SUBCASE("nothing is in flight") {}
  SUBCASE("an ordered message is") {
    inFlight = covering.claim("s");
  }
  SUBCASE("an unordered message is") {
    inFlight = covering.claim("");
  }
  const auto other = covering.world.open();
  const auto statusOf = [&](const std::string& session) {
    enqueueOne(*other, frameOf(session));
    const store::NewRows news = other->takeNewRows(10);
    const delivery::SessionClaim claim{news.rows.back().session, {news.rows.back().key}};
    const store::ClaimReply reply = inTransaction(*other, [&] { return other->claim({&claim, 1}); });
    return reply.sessions.front().status;
  };
  const bool isOrdered = inFlight && inFlight->sessions.front().rows.front().sequence != 0;
  CHECK(covering.claimsInFile() == (!inFlight ? 0 : isOrdered ? 2 : 1));
  CHECK(store::verify(covering.world.file, covering.world.options).clean());
  CHECK(statusOf("t") == delivery::ClaimStatus::claimed);
  CHECK(statusOf("s") == (isOrdered ? delivery::ClaimStatus::busy : delivery::ClaimStatus::claimed));
  if (inFlight) {
    CHECK(store::Reader(covering.world.file, covering.world.options).stats().sending == (isOrdered ? 2 : 3));
    covering.settle(*inFlight);
  }
  // From now on claims are exact.
  CHECK(covering.store->database().execAndGet("SELECT count(*) FROM ackbox_claims WHERE bits=-1").getInt() == 0);
}

TEST_CASE("P7: sessions that were claimed one by one until their block was full are not covered, and are let go") {
  Covering covering;
  // Further on in their block than their sessions are in theirs, so that they leave a full block at other times.
  for (int message = 0; message < 10; ++message) {
    covering.deliver("1");
  }
  std::unique_ptr<store::Store> other;
  bool isLastSettled = false;
  SUBCASE("another owner has been there before") {
    other = covering.world.open();
  }
  SUBCASE("another owner comes while one message is in flight") {}
  SUBCASE("another owner comes after all") {
    isLastSettled = true;
  }
  inTransaction(*covering.store, [&] {
    for (int session = 1; session < 128; ++session) {
      covering.store->enqueue(frameOf(std::to_string(session)));
    }
  });
  const store::ClaimReply reply = claimNew(*covering.store);
  REQUIRE(reply.sessions.size() == 127);
  REQUIRE(covering.store->database().execAndGet("SELECT bits FROM ackbox_claims WHERE block=-2").getInt64() == -1);
  const auto settle = [&](delivery::SessionKey first, delivery::SessionKey last) {
    inTransaction(*covering.store, [&] {
      for (std::size_t place = 0; place < reply.sessions.size(); ++place) {
        if (const delivery::SessionKey session = reply.sessions[place].session; session >= first && session <= last) {
          const delivery::Settlement settlement = settlementOf(reply, delivery::Transition::ack, place);
          delivery::SessionRelease release;
          release.session = session;
          CHECK(covering.store->settle({&settlement, 1}).front());
          covering.store->release({&release, 1});
        }
      }
    });
  };
  settle(1, 63);
  CHECK(covering.store->database().execAndGet("SELECT bits FROM ackbox_claims WHERE block=-2").getInt64() == -1);
  CHECK(store::verify(covering.world.file, covering.world.options).clean());
  settle(64, 126);
  if (isLastSettled) {
    settle(127, 127);
  }
  if (!other) {
    other = covering.world.open();
  }
  const auto statusOf = [&](const std::string& session) {
    enqueueOne(*other, frameOf(session));
    const store::NewRows news = other->takeNewRows(1'000);
    const delivery::SessionClaim claim{news.rows.back().session, {news.rows.back().key}};
    return inTransaction(*other, [&] { return other->claim({&claim, 1}); }).sessions.front().status;
  };
  CHECK(statusOf("100") == delivery::ClaimStatus::claimed);
  CHECK(statusOf("127") == (isLastSettled ? delivery::ClaimStatus::claimed : delivery::ClaimStatus::busy));
  CHECK(store::verify(covering.world.file, covering.world.options).clean());
}

TEST_CASE("P7: a session that is held though its message is settled stays held, whoever comes") {
  const Covering covering;
  covering.deliver("a");
  covering.deliver("s");
  const store::ClaimReply inFlight = covering.claim("s");
  const std::string id = inFlight.messages.front().frame.messageId;
  REQUIRE(inTransaction(*covering.store, [&] { return covering.store->ackById(id); }));
  SUBCASE("nothing is live") {}
  SUBCASE("an unordered message is") {
    REQUIRE(covering.claim("").messages.size() == 1);
  }
  SUBCASE("another session's message is") {
    REQUIRE(covering.claim("a").messages.size() == 1);
  }
  const auto other = covering.world.open();
  enqueueOne(*other, frameOf("s"));
  const store::NewRows news = other->takeNewRows(10);
  const delivery::SessionClaim claim{news.rows.back().session, {news.rows.back().key}};
  const auto status = [&] {
    return inTransaction(*other, [&] { return other->claim({&claim, 1}); }).sessions.front().status;
  };
  CHECK(status() == delivery::ClaimStatus::busy);
  delivery::SessionRelease release = releaseOf(inFlight);
  release.previousSequence = 2;
  inTransaction(*covering.store, [&] { covering.store->release({&release, 1}); });
  CHECK(status() == delivery::ClaimStatus::claimed);
}

TEST_CASE(
    "P2 row 11: what a foreign writer stores is not covered by anybody's claims, in its own transaction or later") {
  const Covering covering;
  covering.deliver("s");
  SQLite::Database connection(covering.world.file.string(), SQLite::OPEN_READWRITE);
  store::ForeignWriter writer(connection, covering.world.options, [] {});
  Frame position = frameOf("s");
  position.supersedeKey = "position";
  const auto isSuperseded = [&](bool twice) {
    SQLite::Transaction transaction(connection);
    EnqueueReceipt receipt = writer.enqueue(position);
    REQUIRE(receipt.isNew());
    if (twice) {
      receipt = writer.enqueue(position);
    }
    transaction.commit();
    return !receipt.supersededId.empty();
  };
  SUBCASE("in its own") {
    CHECK(isSuperseded(true));
  }
  SUBCASE("later") {
    CHECK_FALSE(isSuperseded(false));
    CHECK(isSuperseded(false));
  }
  SUBCASE("what is in flight is not superseded") {
    covering.store->earlyClaim().allow(kPeer);
    enqueueOne(*covering.store, position);
    REQUIRE(covering.store->takeNewRows(10).claimed);
    CHECK_FALSE(isSuperseded(false));
    CHECK(store::Reader(covering.world.file, covering.world.options).stats().sending == 1);
    return;
  }
  CHECK(store::Reader(covering.world.file, covering.world.options).stats().sending == 0);
  CHECK(store::verify(covering.world.file, covering.world.options).clean());
}

TEST_CASE("P7: a settle that comes when the file is shared is its claim's, and what others took away stays away") {
  Covering covering;
  covering.deliver("s");
  const store::ClaimReply claimed = covering.claim("s");
  const auto other = covering.world.open();
  SUBCASE("nobody did") {
    covering.settle(claimed);
  }
  SUBCASE("by its id") {
    REQUIRE(inTransaction(*other, [&] { return other->ackById(claimed.messages.front().frame.messageId); }));
    CHECK_FALSE(settleOne(*covering.store, settlementOf(claimed, delivery::Transition::ack)));
    const delivery::SessionRelease release = releaseOf(claimed);
    inTransaction(*covering.store, [&] { covering.store->release({&release, 1}); });
  }
  CHECK(covering.claimsInFile() == 0);
  CHECK(store::verify(covering.world.file, covering.world.options).clean());
}

TEST_CASE("P7: of a dead owner's, only what was in flight was tried") {
  Covering covering;
  covering.settle(covering.claim("s"), delivery::Transition::fail);
  const store::ClaimReply inFlight = covering.claim("s");
  REQUIRE(inFlight.messages.size() == 1);
  covering.world.lives->erase(covering.store->owner());
  const auto other = covering.world.open();
  CHECK(covering.claimsInFile() == 0);
  CHECK(other->database().execAndGet("SELECT attempt FROM ackbox_outbox WHERE state=0").getInt() == 1);
  // That of the dead letter, which it had when it failed.
  CHECK(other->database().execAndGet("SELECT attempt FROM ackbox_outbox WHERE state=4").getInt() == 1);
  const store::ClaimReply again = claimNew(*other);
  REQUIRE(again.messages.size() == 1);
  CHECK(again.sessions.front().confirmedSequence == 0);
}

TEST_CASE("P1: what a rollback undoes of a covered claim is undone, and the next one is as good") {
  const Covering covering;
  covering.deliver("s");
  covering.store->earlyClaim().allow(kPeer);
  SUBCASE("of the claim") {
    covering.store->database().exec(
        "CREATE TEMP TRIGGER refuse BEFORE INSERT ON main.ackbox_outbox BEGIN SELECT raise(ABORT,'no'); END");
    covering.store->begin(false);
    covering.store->enqueue(frameOf("s"));
    CHECK_THROWS(covering.store->commit());
    covering.store->database().exec("DROP TRIGGER refuse");
  }
  SUBCASE("of the settle") {
    const store::ClaimReply claimed = covering.claim("s");
    const delivery::Settlement settlement = settlementOf(claimed, delivery::Transition::ack);
    covering.store->begin(false);
    CHECK(covering.store->settle({&settlement, 1}).front());
    covering.store->rollback();
    covering.settle(claimed);
  }
  covering.deliver("s");
  CHECK(store::verify(covering.world.file, covering.world.options).clean());
}

}  // namespace ackbox::testing
