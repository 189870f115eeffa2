#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "delivery/types.hpp"
#include "store/connection.hpp"
#include "store/session_states.hpp"
#include "store/sql.hpp"

namespace ackbox::store {

// SQL on `o` (#outbox) and `s` (#sessions): who has claimed the row; NULL: nobody. On the store's own connection,
// `ClaimBlocks::flush` comes first. Of a session without live messages it may say so though nobody has.
inline constexpr std::string_view kRowOwner =
    "(SELECT owner_id FROM #claims WHERE o.state=0 AND block=o.id>>6 AND bits>>(o.id&63)&1)";
inline constexpr std::string_view kSessionOwner =
    "(SELECT owner_id FROM #claims WHERE block=~(s.id>>6) AND bits>>(s.id&63)&1)";
/// SQL: the `MessageState` of `o`. The column says PENDING of what is SENDING.
inline constexpr std::string_view kRowState =
    "iif(o.state=0 AND EXISTS(SELECT 1 FROM #claims WHERE block=o.id>>6 AND bits>>(o.id&63)&1),1,o.state)";
/// SQL behind FROM: the claimed rows as `o`, and by `c.owner_id` whose they are.
inline constexpr std::string_view kClaimedRows =
    "#claims AS c CROSS JOIN #outbox AS o ON c.block>=0 AND o.id BETWEEN c.block<<6 AND (c.block<<6)+63 AND "
    "c.bits>>(o.id&63)&1 AND +o.state=0";

/// What owners have claimed of both tables: a bit for each id, 64 neighbours to a row of the file, so that a claim of a
/// batch writes a row or two and leaves the batch's own rows alone. The blocks of messages count up from 0, those of
/// sessions down from -1, so that a message and its session stand on one page.
///
/// What is claimed, by whom ever, is kept in memory. Of what this owner changes the file is told by `flush` exactly. By
/// `cover` it is told enough, so that one lone message after the other costs no write: a block is claimed whole for the
/// sake of one of it, and stays so though that one is settled. Nobody is misled: readers ask for claims of what is
/// live; it is done only while at most one message is and nobody else has the file open; and whoever comes next calls
/// `CoveredClaims::uncover` before anything else is stored. All in a transaction. Thread-safety: none.
class ClaimBlocks {
public:
  /// Where an id's bit stands.
  struct Place {
    std::int64_t block = 0;
    std::uint64_t bit = 0;
  };

  /// How many of each table, and one of them.
  struct Held {
    std::size_t rows = 0;
    std::size_t sessions = 0;
    std::int64_t row = 0;
    std::int64_t session = 0;
  };

  explicit ClaimBlocks(Connection& connection);
  void setOwner(std::int64_t owner) noexcept { owner_ = owner; }

  /// Whether this owner has claimed it.
  [[nodiscard]] bool holds(Place place);
  /// Whether another one has.
  [[nodiscard]] bool isForeign(Place place);

  void add(Place place);
  /// Whoever has claimed it.
  void remove(Place place);
  /// Takes all of an owner's claims away.
  void removeAll(std::int64_t owner);
  /// What this owner has claimed.
  [[nodiscard]] Held held();

  /// Writes what has changed, so that SQL sees it.
  void flush();
  /// Where `InFlight::isLone`: leaves covered blocks as they are, and covers further ones if something is claimed of
  /// which the file does not know; unless it `takesWhole` none, as while another owner is there.
  void cover(bool takesWhole);

  /// What was claimed and given back since the last commit is so for good. After one of the two above.
  void committed() noexcept;
  /// Back to the last commit. The file may say otherwise by now: after a rollback, or another connection's commit.
  void forget() noexcept;
  /// To exactly what the file says: for where it was told by `flush`, and what came since is undone.
  void restore();

private:
  struct Block {
    std::uint64_t bits = 0;
    // As of the last commit.
    std::uint64_t kept = 0;
    // What the file says.
    std::uint64_t written = 0;
    // It may differ from one of these, and is listed.
    bool isChanged = false;
    // The file says that all of it is claimed for the sake of one; not one that was claimed bit by bit until it was
    // full.
    bool isCovered = false;
  };
  using Blocks = std::map<std::int64_t, Block>;

  void load();
  void erase(Blocks::iterator first, Blocks::iterator end);
  void write(std::vector<std::int64_t>& blocks);
  void write(Statement& statement, std::size_t together, std::vector<std::int64_t>& blocks);
  Block& change(std::int64_t number);
  void list(std::int64_t number, Block& block);

  std::int64_t owner_ = 0;
  Statement select_;
  Statement write_;
  Statement writeMany_;
  Statement erase_;
  Statement removeForeign_;
  Statement eraseForeign_;
  Statement removeAll_;
  bool loaded_ = false;
  // In order, so that neighbours that are done with go together. Kept when the file is read again, as others add
  // nothing to it; what is missing there they have taken away.
  Blocks own_;
  std::vector<std::int64_t> changed_;
  std::unordered_map<std::int64_t, std::uint64_t> foreign_;
};

/// The ids of one table among the claims.
class ClaimSet {
public:
  enum class Table : std::uint8_t { rows, sessions };

  ClaimSet(ClaimBlocks& blocks, Table table) noexcept : blocks_(blocks), table_(table) {}

  /// Whether this owner has claimed `id`.
  [[nodiscard]] bool holds(std::int64_t id) { return blocks_.holds(placeOf(id)); }
  /// Whether another one has.
  [[nodiscard]] bool isForeign(std::int64_t id) { return blocks_.isForeign(placeOf(id)); }

  void add(std::int64_t id) { blocks_.add(placeOf(id)); }
  /// Whoever has claimed it.
  void remove(std::int64_t id) { blocks_.remove(placeOf(id)); }

private:
  [[nodiscard]] ClaimBlocks::Place placeOf(std::int64_t id) const noexcept;

  ClaimBlocks& blocks_;
  const Table table_;
};

/// What of a row does not change as long as it is in flight.
struct RowFacts {
  delivery::SessionKey session = 0;
  std::uint64_t sequence = 0;
  std::int64_t bytes = 0;
  /// Claims before the one that it is in flight with.
  std::int64_t attempt = 0;
  WallTime enqueuedAt{};
  std::string messageId;
};

/// Makes exact what others' claims cover: for whoever is about to store something beside them.
///
/// Thread-safety: that of the connection.
class CoveredClaims {
public:
  CoveredClaims(sqlite3* connection, std::string_view prefix);

  /// In a transaction, before anything is stored in it. `live`: the file's live messages; where there are two, nothing
  /// is covered.
  void uncover(std::uint64_t live);

private:
  Statement any_;
  Statement live_;
  Statement narrow_;
  Statement erase_;
};

/// Who has what in flight.
struct InFlight {
  explicit InFlight(Connection& connection)
      : claims(connection), rows(claims, ClaimSet::Table::rows), sessions(claims, ClaimSet::Table::sessions) {}

  /// Hands over what was acknowledged without its session's release. Before each commit and each nested scope.
  void flushConfirmed(SessionStates& states) {
    for (const auto& [session, sequence] : confirmed) {
      SessionState& state = states.change(session);
      state.confirmedSequence = std::max(state.confirmedSequence, sequence);
    }
    confirmed.clear();
  }
  /// Whether this owner has claimed all that is live, which is one message and its session, or nothing.
  [[nodiscard]] bool isLone(std::uint64_t live) {
    if (live > 1) {
      return false;
    }
    const ClaimBlocks::Held held = claims.held();
    if (held.rows != live || held.sessions > held.rows) {
      return false;
    }
    const auto known = facts.find(held.row);
    return held.sessions == 0 || (known != facts.end() && known->second.session == held.session);
  }
  void forget() noexcept {
    claims.forget();
    forgetFacts();
  }
  /// Back to where a nested scope was begun.
  void restore() {
    claims.restore();
    forgetFacts();
  }
  void forgetFacts() noexcept {
    facts.clear();
    leaving.clear();
    confirmed.clear();
  }

  ClaimBlocks claims;
  ClaimSet rows;
  ClaimSet sessions;
  /// Of rows that this owner claimed: what its settle need not read again. A row may be missing here.
  std::unordered_map<delivery::MessageKey, RowFacts> facts;
  /// Rows that are settled and still to be removed.
  std::vector<delivery::MessageKey> leaving;
  /// The highest sequence that an answer has settled, of sessions whose state does not say so yet.
  std::unordered_map<delivery::SessionKey, std::uint64_t> confirmed;
};

}  // namespace ackbox::store
