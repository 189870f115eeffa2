// Goal: a message keeps what its last attempts came to, in a bounded log.
// Method: one row, claimed and settled again and again.

#include <doctest/doctest.h>

#include "store_conformance/claimed_row.hpp"
#include "store_conformance/world.hpp"

namespace attempts_test {

using namespace ackbox;
using namespace ackbox::testing;
using delivery::Settlement;
using delivery::Transition;

using Row = ClaimedRow;

TEST_CASE("P10: failed attempts are logged, the newest first; one that failed as the last one did is counted there") {
  World world;
  Row row(world);
  Settlement refused = failure("connection refused");
  refused.took = std::chrono::milliseconds(3);
  const WallTime first = world.clock->wallNow();
  for (int count = 0; count < 300; ++count) {
    row.failAndClaim(refused);
    world.clock->advance(std::chrono::seconds(1));
  }
  Settlement busy = failure("no luck: \"\xC3\xA4\"\n", Transition::retry);
  busy.took = std::chrono::milliseconds(70);
  busy.status = 200;
  row.failAndClaim(busy);
  const std::vector<AttemptInfo> attempts = row.now()->attempts;
  REQUIRE(attempts.size() == 2);
  CHECK(attempts[0].error == busy.error);
  CHECK(attempts[0].outcome == "retry");
  CHECK(attempts[0].status == 200);
  CHECK(attempts[0].count == 1);
  CHECK(attempts[0].took == busy.took);
  CHECK(attempts[0].firstAt == first + std::chrono::seconds(300));
  CHECK(attempts[1].error == "connection refused");
  CHECK(attempts[1].outcome == "release");
  CHECK(attempts[1].status == 0);
  CHECK(attempts[1].count == 300);
  CHECK(attempts[1].firstAt == first);
  CHECK(attempts[1].lastAt == first + std::chrono::seconds(299));

  // The same error with another status, or charged, is another way to fail.
  Settlement other = busy;
  other.status = 503;
  row.failAndClaim(other);
  other.transition = Transition::release;
  row.failAndClaim(other);
  CHECK(row.now()->attempts.size() == 4);
}

TEST_CASE("P10: of many failed attempts the last 8 are kept, cut between two characters, also over a redrive") {
  World world;
  Row row(world);
  for (int count = 0; count < 20; ++count) {
    row.failAndClaim(failure(std::to_string(count)));
  }
  row.settlement.error = std::string(199, 'x') + "\xC3\xA4";
  row.settlement.reason = "rejected";
  REQUIRE(row.apply(Transition::fail));
  const auto check = [&] {
    const std::vector<AttemptInfo> attempts = row.now()->attempts;
    REQUIRE(attempts.size() == 8);
    CHECK(attempts.front().error == std::string(199, 'x'));
    CHECK(attempts.front().outcome == "fail");
    CHECK_FALSE(attempts.front().took);
    CHECK(attempts[1].error == "19");
    CHECK(attempts.back().error == "13");
  };
  check();
  inTransaction(*row.store, [&] { return row.store->deadLetters().change(row.id, Transition::redrive, {}); });
  CHECK(row.now()->state == MessageState::pending);
  check();
  CHECK(world.problems() == "");
}

TEST_CASE("P10: an error is kept whole up to a thousand bytes, and no further") {
  for (const std::size_t bytes : {std::size_t{1'000}, std::size_t{1'001}}) {
    World world;
    Row row(world);
    row.settlement.error = std::string(bytes, 'x');
    CHECK(row.apply(Transition::retry));
    CHECK(row.now()->lastError.size() == 1'000);
  }
}

}  // namespace attempts_test
