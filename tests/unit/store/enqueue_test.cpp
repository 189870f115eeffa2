// Goal: an enqueue's row holds what its frame says, however many share a statement, and foreign code that ends the
// transaction is noticed.
// Method: rows as SQL sees them. What an enqueue promises, `store_conformance` tries.

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "ackbox/error.hpp"
#include "store/decisions/uuid.hpp"
#include "store_world.hpp"

namespace enqueue_test {

using namespace ackbox;
using namespace ackbox::testing;

TEST_CASE("foreign code that ends the guarded transaction is vetoed or noticed, and nothing of it stays") {
  StoreWorld world;
  const auto store = world.open();
  store->begin(false);
  store->outbox().enqueue(frameOf("s"));
  store->guardTransaction(true);
  SUBCASE("commit") {
    CHECK_THROWS(store->database().exec("COMMIT"));
  }
  SUBCASE("rollback") {
    store->database().exec("ROLLBACK");
  }
  SUBCASE("rollback, and a new transaction to hide it") {
    store->database().exec("ROLLBACK; BEGIN");
  }
  store->guardTransaction(false);
  CHECK(store->transactionLost());
  try {
    store->commit();
    CHECK(false);
  } catch (const Error& error) {
    CHECK(error.code() == Errc::handlerEndedTransaction);
  }
  CHECK_FALSE(store->inTransaction());
  CHECK(enqueueOne(*store, frameOf("s")).sequence == 1);
}

TEST_CASE("generated ids sort in the order of their making, whatever the clock does") {
  store::UuidGenerator uuids;
  const auto random = seededRandom(3);
  WallTime now(std::chrono::milliseconds(1'700'000'000'000));
  std::string last;
  for (int count = 0; count < 20'000; ++count) {
    if (count == 10'000) {
      now -= std::chrono::hours(1);
    }
    const std::string next = toString(uuids.next(now, *random, count));
    REQUIRE(last < next);
    last = next;
  }
  CHECK(last.size() == 36);
  CHECK(last.substr(26) == "0000019999");
  CHECK(last[14] == '7');
  CHECK(std::string("89ab").find(last[19]) != std::string::npos);
}

namespace {

// All that is stored of the rows, as SQL would write it.
std::string storedRows(store::sqlite::SqliteStore& store) {
  std::string text;
  SQLite::Statement rows(store.database(), "SELECT * FROM ackbox_outbox ORDER BY id");
  while (rows.executeStep()) {
    for (int column = 0; column < rows.getColumnCount(); ++column) {
      text.append(rows.getColumn(column).getName()).append("=");
      text.append(rows.isColumnNull(column) ? "NULL" : rows.getColumn(column).getString()).append(" ");
    }
    text.append("\n");
  }
  return text;
}

// The columns that an enqueue may leave out.
enum class Wish : std::uint8_t { id, trace, correlation, expiry, delay, superseding };
constexpr std::size_t kWishes = 6;

void add(Frame& frame, Wish wish, const StoreWorld& world, std::size_t number) {
  switch (wish) {
    case Wish::id:
      frame.id = "id-" + std::to_string(number);
      break;
    case Wish::trace:
      frame.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
      break;
    case Wish::correlation:
      frame.correlationId = "correlation";
      break;
    case Wish::expiry:
      frame.expiresAt = world.clock->wallNow() + std::chrono::hours(2);
      break;
    case Wish::delay:
      frame.notBefore = world.clock->wallNow() + std::chrono::hours(1);
      break;
    case Wish::superseding:
      frame.supersedeKey = "key-" + std::to_string(number);
      break;
  }
}

Frame numberedFrame(std::size_t number) {
  return frameOf("s" + std::to_string(number % 3), "{\"n\":" + std::to_string(number) + "}");
}

}  // namespace

TEST_CASE("a row is stored alike whatever it has, however many share its statement, and whatever those have") {
  const StoreWorld together;
  const StoreWorld apart;
  const auto ours = together.open();
  const auto theirs = apart.open();
  std::size_t number = 0;
  // Around each of the sizes that share a statement. Which of them have a wish: none, all, some; or one, the last.
  for (const std::size_t rows : {1U, 2U, 3U, 4U, 5U, 31U, 32U, 33U, 36U, 37U, 69U}) {
    for (const int shape : {0, 1, 2, 3}) {
      for (std::size_t first = 0; first < (shape == 0 ? 1 : kWishes); ++first) {
        std::vector<Frame> frames;
        for (std::size_t place = 0; place < rows; ++place, ++number) {
          frames.push_back(numberedFrame(number));
          if (shape == 1 || (shape == 2 && place % 5 == 0) || (shape == 3 && place + 1 == rows)) {
            add(frames.back(), static_cast<Wish>((first + place) % kWishes), together, number);
          }
        }
        inTransaction(*ours, [&] {
          for (const Frame& frame : frames) {
            CHECK(ours->outbox().enqueue(frame).isNew());
          }
        });
        for (const Frame& frame : frames) {
          enqueueOne(*theirs, frame);
        }
      }
    }
  }
  const std::string stored = storedRows(*ours);
  CHECK(static_cast<std::size_t>(std::count(stored.begin(), stored.end(), '\n')) == number);
  // Not told in full where they differ.
  const bool areAlike = stored == storedRows(*theirs);
  CHECK(areAlike);
}

TEST_CASE("what an enqueue leaves out is NULL or 0 in its row, and what it says is there") {
  const StoreWorld world;
  const auto store = world.open();
  enqueueOne(*store, numberedFrame(0));
  const std::string now = std::to_string(world.clock->wallNow().time_since_epoch().count());
  const std::string plain = storedRows(*store);
  for (const std::string& column :
       {std::string("session_id=1 "), std::string("sequence=1 "), std::string("state=0 "), std::string("attempt=0 "),
        std::string("retry_count=0 "), std::string("due_at_ms=0 "), std::string("expires_at_ms=NULL "),
        std::string("not_before_ms=NULL "), std::string("message_id=NULL "), std::string("type=test "),
        std::string("traceparent=NULL "), std::string("correlation_id=NULL "), std::string("supersede_key=NULL "),
        std::string("data={\"n\":0} "), "created_at_ms=" + now + " "}) {
    CAPTURE(column);
    CHECK(plain.find(column) != std::string::npos);
  }
  CHECK(plain.find("id_rest=NULL") == std::string::npos);
  const std::vector<std::string> told = {"message_id=id-1 ",
                                         "traceparent=00-0af7651916cd43dd8448eb211c80319c-",
                                         "correlation_id=correlation ",
                                         "expires_at_ms=",
                                         "not_before_ms=",
                                         "supersede_key=key-1 "};
  for (std::size_t wish = 0; wish < kWishes; ++wish) {
    CAPTURE(wish);
    const StoreWorld other;
    const auto full = other.open();
    Frame frame = numberedFrame(1);
    add(frame, static_cast<Wish>(wish), other, 1);
    enqueueOne(*full, frame);
    const std::string stored = storedRows(*full);
    CHECK(stored.find(told[wish]) != std::string::npos);
    CHECK(stored.find(told[wish] + "NULL") == std::string::npos);
    CHECK((stored.find("id_rest=NULL") != std::string::npos) == (static_cast<Wish>(wish) == Wish::id));
    CHECK((stored.find("due_at_ms=0 ") == std::string::npos) == (static_cast<Wish>(wish) == Wish::delay));
  }
}

}  // namespace enqueue_test
