// Goal: dead letters are found through their own index, and pages of messages look at a bounded number of rows.
// Method: the plan of the statement; more rows than a page looks at.

#include "store/sqlite/outbound/dead_letters.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "store/sqlite/read/message_pages.hpp"
#include "store/sqlite/read/reader.hpp"
#include "store_conformance/failed_messages.hpp"
#include "store_world.hpp"

namespace dead_letters_test {

using namespace ackbox;
using namespace ackbox::testing;
using delivery::Transition;

using Failed = FailedMessages<StoreWorld>;

TEST_CASE("row 4: failed rows leave the index of what is in flight, and the rows that a run is told of") {
  Failed failed({{"a", "s"}, {"b", "s"}, {"c", "t"}});
  enqueueOne(*failed.store, frameOf("t", "{}", "live"));
  const auto indexed = [&](const std::string& index, const std::string& where) {
    return failed.store->database()
        .execAndGet("SELECT count(*) FROM ackbox_outbox INDEXED BY " + index + " WHERE " + where)
        .getInt();
  };
  CHECK(failed.store->database().execAndGet("SELECT count(*) FROM ackbox_claims WHERE block>=0").getInt() == 0);
  CHECK(indexed("ackbox_outbox_failed", "state=4") == 3);
  failed.store->discovery().restart();
  CHECK(failed.store->discovery().take(100).rows.size() == 1);
}

TEST_CASE("row 4: dead letters are found through their own index, never by a walk over the backlog") {
  Failed failed({{"a", "s"}});
  SQLite::Database& database = failed.store->database();
  SQLite::Statement plan(database,
                         "EXPLAIN QUERY PLAN " + sqlite::expand(store::sqlite::deadLetterSelect("o.id"), "ackbox_"));
  REQUIRE(plan.executeStep());
  CHECK(plan.getColumn(3).getString().find("INDEX ackbox_outbox_failed") != std::string::npos);
}

TEST_CASE("export: a filter chooses the same rows in pages as without them, on both sides of what one page looks at") {
  constexpr std::size_t kRows = store::sqlite::kPageLooks + 3;
  // The neighbours of the border, and the ends.
  const std::vector<std::size_t> chosen{1, store::sqlite::kPageLooks - 1, store::sqlite::kPageLooks,
                                        store::sqlite::kPageLooks + 1, kRows};
  StoreWorld world;
  const auto store = world.open();
  inTransaction(*store, [&] {
    for (std::size_t row = 1; row <= kRows; ++row) {
      const bool isChosen = std::ranges::find(chosen, row) != chosen.end();
      REQUIRE(store->outbox().enqueue(frameOf(isChosen ? "chosen" : "other", "{}", "m" + std::to_string(row))).isNew());
    }
  });
  const store::sqlite::SqliteReader reader(world.file, world.options);
  const auto idsOf = [&](const auto& readPage, std::size_t limit) {
    std::vector<std::size_t> ids;
    std::int64_t after = 0;
    std::size_t pages = 0;
    do {
      const auto page = readPage(limit, after);
      for (const auto& message : page.messages) {
        if constexpr (requires { message.messageId; }) {
          ids.push_back(std::stoul(message.messageId.substr(1)));
        } else {
          ids.push_back(std::stoul(message.info.messageId.substr(1)));
        }
      }
      after = page.next;
      REQUIRE(++pages < 10);
    } while (after != 0);
    return ids;
  };
  MessageFilter filter;
  filter.session = "chosen";
  DeadLetterFilter deadFilter;
  deadFilter.session = "chosen";
  for (const bool failed : {false, true}) {
    CAPTURE(failed);
    if (failed) {
      SQLite::Database(world.file.string(), SQLite::OPEN_READWRITE).exec("UPDATE ackbox_outbox SET state=4");
      filter.state = MessageState::failed;
    }
    for (const std::size_t limit : {std::size_t{1}, std::size_t{2}, store::sqlite::kPageLooks}) {
      CAPTURE(limit);
      CHECK(idsOf([&](auto most, auto after) { return reader.messages(filter, most, after); }, limit) == chosen);
      MessageFilter newest = filter;
      newest.isNewestFirst = true;
      CHECK(idsOf([&](auto most, auto after) { return reader.messages(newest, most, after); }, limit) ==
            std::vector<std::size_t>(chosen.rbegin(), chosen.rend()));
      CHECK(idsOf([&](auto most, auto after) { return reader.storedMessages(filter, most, after); }, limit) == chosen);
      if (failed) {
        CHECK(idsOf([&](auto most, auto after) { return reader.deadLetters(deadFilter, most, after); }, limit) ==
              chosen);
        CHECK(idsOf([&](auto most, auto after) { return reader.storedDeadLetters(deadFilter, most, after); }, limit) ==
              chosen);
      }
    }
  }
  filter = {};
  CHECK(idsOf([&](auto most, auto after) { return reader.messages(filter, most, after); }, store::sqlite::kPageLooks)
            .size() == kRows);
}

TEST_CASE("P9: messages that wait are listed without a look at the dead letters in front of them") {
  constexpr std::size_t kDead = store::sqlite::kPageLooks + 1;
  StoreWorld world;
  const auto store = world.open();
  inTransaction(*store, [&] {
    for (std::size_t row = 0; row < kDead; ++row) {
      REQUIRE(store->outbox().enqueue(frameOf("s")).isNew());
    }
    REQUIRE(store->outbox().enqueue(frameOf("s", "{}", "waits")).isNew());
  });
  SQLite::Database(world.file.string(), SQLite::OPEN_READWRITE)
      .exec("UPDATE ackbox_outbox SET state=4 WHERE message_id IS NULL");
  const store::sqlite::SqliteReader reader(world.file, world.options);
  MessageFilter filter;
  filter.state = MessageState::pending;
  const MessagePage page = reader.messages(filter, 10, 0);
  REQUIRE(page.messages.size() == 1);
  CHECK(page.messages.front().messageId == "waits");
  CHECK(page.next == 0);
  CHECK(reader.messages(filter, 10, page.messages.front().row).messages.empty());
}

}  // namespace dead_letters_test
