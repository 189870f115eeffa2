#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "delivery/types.hpp"
#include "sqlite/connection.hpp"
#include "sqlite/statement.hpp"
#include "store/sqlite/cache/session_states.hpp"
#include "store/sqlite/cache/write_back.hpp"
#include "store/sqlite/sqlite_names.hpp"

namespace ackbox::store::sqlite {

// SQL on `o` (#outbox) and `s` (#sessions): the owner that has claimed the row; NULL if none has. On the store's own
// connection, `ClaimBits::flush` comes first.
inline constexpr std::string_view kRowOwner =
    "(SELECT owner_id FROM #claims WHERE o.state=0 AND block=o.id>>6 AND bits>>(o.id&63)&1)";
inline constexpr std::string_view kSessionOwner =
    "(SELECT owner_id FROM #claims WHERE block=~(s.id>>6) AND bits>>(s.id&63)&1)";
/// SQL: the `MessageState` of `o`. The column `state` says PENDING for a message that is SENDING.
inline constexpr std::string_view kRowState =
    "iif(o.state=0 AND EXISTS(SELECT 1 FROM #claims WHERE block=o.id>>6 AND bits>>(o.id&63)&1),1,o.state)";
/// SQL behind FROM: the claimed rows as `o`, and their owners as `c.owner_id`.
inline constexpr std::string_view kClaimedRows =
    "#claims AS c CROSS JOIN #outbox AS o ON c.block>=0 AND o.id BETWEEN c.block<<6 AND (c.block<<6)+63 AND "
    "c.bits>>(o.id&63)&1 AND +o.state=0";

/// The owners' claims of both tables: a bit for each id, 64 neighbours per row of the file, so that a claim of a batch
/// writes a row or two and not the batch's own rows. The blocks of messages count up from 0, those of sessions down
/// from -1, so that a message and its session are on one page.
///
/// All claims, including other owners', are kept in memory. After `flush` the file has exactly this owner's claims. All
/// in a transaction. Thread-safety: none.
class ClaimBits {
public:
  /// The position of an id's bit.
  struct Place {
    std::int64_t block = 0;
    std::uint64_t bit = 0;
  };

  explicit ClaimBits(Connection& connection);
  void setOwner(std::int64_t owner) noexcept { owner_ = owner; }

  /// Whether this owner has claimed the id.
  [[nodiscard]] bool holds(Place place);
  /// Whether another one has.
  [[nodiscard]] bool isForeign(Place place);

  void add(Place place);
  /// Whichever owner has claimed it.
  void remove(Place place);
  /// Takes all of an owner's claims away.
  void removeAll(std::int64_t owner);

  /// Writes what has changed, so that SQL sees it.
  void flush();

  /// Drops the memory; the claims are read from the file when they are needed next.
  void forget() noexcept;
  [[nodiscard]] bool isPending() const noexcept { return !changed_.empty(); }

private:
  struct Block {
    std::uint64_t bits = 0;
    // The bits in the file.
    std::uint64_t written = 0;
    // The two may differ; the block is in `changed_`.
    bool isChanged = false;
  };
  using Blocks = std::map<std::int64_t, Block>;

  void load();
  void erase(Blocks::iterator first, Blocks::iterator end);
  void write(std::vector<std::int64_t>& blocks);
  void write(Statement& statement, std::size_t together, std::vector<std::int64_t>& blocks);
  Block& change(std::int64_t number);

  std::int64_t owner_ = 0;
  Statement select_;
  Statement write_;
  Statement writeMany_;
  Statement erase_;
  Statement removeForeign_;
  Statement eraseForeign_;
  Statement removeAll_;
  bool loaded_ = false;
  // In order, so that neighbouring blocks without a claim are deleted together.
  Blocks own_;
  std::vector<std::int64_t> changed_;
  std::unordered_map<std::int64_t, std::uint64_t> foreign_;
};

/// The ids of one table among the claims.
class ClaimSet {
public:
  enum class Table : std::uint8_t { rows, sessions };

  ClaimSet(ClaimBits& blocks, Table table) noexcept : blocks_(blocks), table_(table) {}

  /// Whether this owner has claimed `id`.
  [[nodiscard]] bool holds(std::int64_t id) { return blocks_.holds(placeOf(id)); }
  /// Whether another one has.
  [[nodiscard]] bool isForeign(std::int64_t id) { return blocks_.isForeign(placeOf(id)); }

  void add(std::int64_t id) { blocks_.add(placeOf(id)); }
  /// Whichever owner has claimed it.
  void remove(std::int64_t id) { blocks_.remove(placeOf(id)); }

private:
  [[nodiscard]] ClaimBits::Place placeOf(std::int64_t id) const noexcept;

  ClaimBits& blocks_;
  const Table table_;
};

/// The facts of a row that do not change while it is in flight.
struct RowFacts {
  delivery::SessionKey session = 0;
  std::uint64_t sequence = 0;
  std::int64_t bytes = 0;
  /// The number of claims before the current one.
  std::int64_t attempt = 0;
  WallTime enqueuedAt{};
  std::string messageId;
};

/// The claims of this owner and of others, and the facts that settles of this owner's claims need.
class InFlight final : public WriteBack {
public:
  InFlight(Connection& connection, SessionStates& states)
      : claims(connection),
        rows(claims, ClaimSet::Table::rows),
        sessions(claims, ClaimSet::Table::sessions),
        states_(states) {}

  /// Writes the claims, and hands `confirmed` over to the sessions' states.
  void flush() override {
    requireInvariant(toRemove.empty(), "in flight: settled rows are still in the file");
    claims.flush();
    for (const auto& [session, sequence] : confirmed) {
      SessionState& state = states_.change(session);
      state.confirmedSequence = std::max(state.confirmedSequence, sequence);
    }
    confirmed.clear();
  }
  /// Writes now, so that the file is right if the scope is undone.
  void scopeBegun() override { flush(); }
  void forget() noexcept override {
    claims.forget();
    facts.clear();
    toRemove.clear();
    confirmed.clear();
  }
  [[nodiscard]] bool isPending() const noexcept override { return claims.isPending() || !confirmed.empty(); }

  ClaimBits claims;
  ClaimSet rows;
  ClaimSet sessions;
  /// The facts of rows that this owner claimed, so that their settles need not read them. Rows may be missing here.
  std::unordered_map<delivery::MessageKey, RowFacts> facts;
  /// Settled rows that are still to be removed; empty outside a call of `Settles`.
  std::vector<delivery::MessageKey> toRemove;
  /// The highest sequence that an answer has settled, for sessions with a state that does not say so yet.
  std::unordered_map<delivery::SessionKey, std::uint64_t> confirmed;

private:
  SessionStates& states_;
};

}  // namespace ackbox::store::sqlite
