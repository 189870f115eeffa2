// Goal: who reads what is new, from where it stopped before, finds each row once, also a row that was given its key
// before rows that were committed, and read, earlier.
// Method: two handles in transactions at once, where the store lets them; a third that reads in between. A ledger with
// several writers shows that a cursor which takes the order of keys for that of commits is found out.

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "ackbox/error.hpp"
#include "store_conformance/inbound.hpp"
#include "store_conformance/world.hpp"

namespace cursors_test {

using namespace ackbox;
using namespace ackbox::testing;

namespace {

using Names = std::vector<std::string>;

/// Two writers that each put one name in, and a reader.
struct Racers {
  /// Begins a transaction of that writer and puts its name in. False: another one is in its way.
  std::function<bool(int writer, const std::string& name)> put;
  std::function<void(int writer)> commit;
  /// The names that were not returned before.
  std::function<Names()> look;
};

/// Whether both names are found, once each, although the one that was put in first is committed last.
bool findsLateCommit(const Racers& racers) {
  REQUIRE(racers.put(0, "early key"));
  const bool isOvertaken = racers.put(1, "late key");
  if (!isOvertaken) {
    // Its writers take turns.
    racers.commit(0);
    REQUIRE(racers.put(1, "late key"));
  }
  racers.commit(1);
  Names found = racers.look();
  if (isOvertaken) {
    racers.commit(0);
  }
  for (int look = 0; look < 2; ++look) {
    std::ranges::copy(racers.look(), std::back_inserter(found));
  }
  std::ranges::sort(found);
  return found == Names{"early key", "late key"};
}

/// Begins, unless another handle's transaction is in the way.
bool begins(store::Store& store) {
  try {
    store.begin(true, false);
    return true;
  } catch (const Error& error) {
    REQUIRE(error.code() == Errc::databaseBusy);
    return false;
  }
}

/// Rows of several writers, as a database has them whose keys come from a sequence.
struct Ledger {
  struct Row {
    std::string name;
    bool isCommitted = false;
  };
  std::vector<Row> rows;
  // What the reader goes by: the highest key that it saw, or what it saw.
  std::size_t highest = 0;
  std::set<std::size_t> seen;

  Racers racers(bool goesByKeys) {
    return {[this](int, const std::string& name) {
              rows.push_back({name});
              return true;
            },
            [this](int writer) { rows.at(static_cast<std::size_t>(writer)).isCommitted = true; },
            [this, goesByKeys] {
              Names found;
              for (std::size_t key = 1; key <= rows.size(); ++key) {
                const bool isNew = goesByKeys ? key > highest : !seen.contains(key);
                if (rows[key - 1].isCommitted && isNew) {
                  found.push_back(rows[key - 1].name);
                  highest = key;
                  seen.insert(key);
                }
              }
              return found;
            }};
  }
};

}  // namespace

TEST_CASE("P3: an inbound frame that waits is found, though it was given its key before one that was found earlier") {
  REQUIRE(findsLateCommit(Ledger().racers(false)));
  REQUIRE_FALSE(findsLateCommit(Ledger().racers(true)));
  const World world;
  const std::unique_ptr<store::Store> writers[] = {world.open(), world.open()};
  const auto reader = world.open();
  store::InboxCursor cursor;
  const Racers racers{[&](int writer, const std::string& name) {
                        store::Store& store = *writers[writer];
                        if (!begins(store)) {
                          return false;
                        }
                        InboundFrame frame = inboundFrame(1, name);
                        frame.id = name;
                        store.inboundMarks().markAccepted(identityOf(frame), 0, {kOutcomeRetention, kOutcomeRetention});
                        store.inbox().add(frame, true);
                        return true;
                      },
                      [&](int writer) { writers[writer]->commit(); },
                      [&] {
                        store::NewInboxRows newRows =
                            inTransaction(*reader, [&] { return reader->inbox().rowsAfter(cursor, 10); });
                        cursor = std::move(newRows.next);
                        Names found;
                        for (const store::InboxPlace& place : newRows.rows) {
                          found.push_back(claimRow(*reader, place.key).row.frame.id);
                        }
                        return found;
                      }};
  CHECK(findsLateCommit(racers));
}

TEST_CASE("P3: a message is found, though it was given its key before one that was found earlier") {
  const World world;
  const std::unique_ptr<store::Store> writers[] = {world.open(), world.open()};
  const auto reader = world.open();
  const Racers racers{[&](int writer, const std::string& name) {
                        if (!begins(*writers[writer])) {
                          return false;
                        }
                        writers[writer]->outbox().enqueue(frameOf(name));
                        return true;
                      },
                      [&](int writer) { writers[writer]->commit(); },
                      [&] {
                        inTransaction(*reader, [] {});
                        Names found;
                        for (const delivery::RowSeen& row : reader->discovery().take(10).rows) {
                          found.push_back(reader->discovery().sessionName(row.session));
                        }
                        return found;
                      }};
  CHECK(findsLateCommit(racers));
}

TEST_CASE("P3: the inbox is read in slices of any size, each row once, and what comes meanwhile is found behind") {
  for (const std::size_t limit : {1U, 2U, 3U, 100U}) {
    CAPTURE(limit);
    const World world;
    const auto store = world.open();
    const auto other = world.open();
    std::vector<store::InboxKey> added;
    for (std::uint64_t sequence = 1; sequence <= 5; ++sequence) {
      added.push_back(acceptFrame(sequence % 2 == 0 ? *store : *other, inboundFrame(sequence)));
    }
    std::vector<store::InboxKey> found;
    store::InboxCursor cursor;
    for (int look = 0; look < 10; ++look) {
      store::NewInboxRows newRows = inTransaction(*store, [&] { return store->inbox().rowsAfter(cursor, limit); });
      CHECK(newRows.rows.size() <= limit);
      cursor = std::move(newRows.next);
      for (const store::InboxPlace& place : newRows.rows) {
        found.push_back(place.key);
      }
      if (look == 1) {
        added.push_back(acceptFrame(*other, inboundFrame(6)));
      }
    }
    // Of one session: in its order.
    CHECK(found == added);
    // Another reader begins at the beginning.
    CHECK(inTransaction(*other, [&] { return other->inbox().rowsAfter({}, 100); }).rows.size() == 6);
  }
}

TEST_CASE("P12: with each row of the inbox come its sender, session, acceptance and expiry, by which it has its turn") {
  const World world;
  const auto store = world.open();
  InboundFrame lasting = inboundFrame(1, "a");
  lasting.expiresAt.reset();
  acceptFrame(*store, lasting);
  InboundFrame loose = inboundFrame(1, "");
  loose.sequence = 0;
  loose.source = "urn:other";
  loose.expiresAt = WallTime(std::chrono::milliseconds(1'800'000'000'123));
  acceptFrame(*store, loose);
  const auto rows = inTransaction(*store, [&] { return store->inbox().rowsAfter({}, 10); }).rows;
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].source == "urn:peer");
  CHECK(rows[0].session == "a");
  CHECK(rows[0].acceptedAt == claimRow(*store, rows[0].key).row.acceptedAt);
  CHECK_FALSE(rows[0].expiresAt);
  CHECK(rows[1].source == "urn:other");
  CHECK(rows[1].expiresAt == loose.expiresAt);
  CHECK(rows[1].session.empty());
}

}  // namespace cursors_test
