#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "ackbox/clock.hpp"
#include "ackbox/options.hpp"
#include "ackbox/random.hpp"
#include "postgres/connection.hpp"
#include "store/postgres/counts.hpp"
#include "store/postgres/names.hpp"
#include "store/postgres/outbound/released_claims.hpp"
#include "store/postgres/shares.hpp"

namespace ackbox::store::postgres {

/// The objects and values that the parts of a store share. Lives as long as the parts.
struct Context {
  Connection& connection;
  Counts& counts;
  Shares& shares;
  ReleasedClaims& released;
  const OutboxOptions& options;
  Clock& clock;
  Random& random;
  /// Writes what is gathered of rows and claims, before any code looks at them.
  std::function<void()> flushRows = [] {};
  /// The server's run that the connection is to: one that crashed or was promoted may give numbers of transactions out
  /// again, so what was known by them counts for the run alone.
  std::string serverRun = {};
  /// The number of runs that this store has met.
  std::size_t runs = 0;
  /// This store's row in the owners table.
  std::int64_t owner = 0;
  /// Discovery has returned all rows that were put back up to this recall: sessions of later ones must not be claimed
  /// yet.
  std::int64_t recallsDiscovered = 0;
  /// Of the live messages that discovery has returned, none has a lower key. Entries of those that were deleted stay in
  /// the index while any transaction is open, and a search from the beginning would pass them all each time.
  std::int64_t oldestKey = 0;
  /// The number of recalls by any process, including the current transaction's.
  std::int64_t recallsMade = 0;
  /// The orders by any process, including the current transaction's; as of its beginning.
  std::int64_t orders = -1;

  [[nodiscard]] WallTime now() const { return clock.wallNow(); }
};

}  // namespace ackbox::store::postgres
