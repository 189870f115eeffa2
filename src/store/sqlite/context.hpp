#pragma once

#include <cstdint>
#include <vector>

#include "ackbox/clock.hpp"
#include "ackbox/options.hpp"
#include "ackbox/random.hpp"
#include "sqlite/connection.hpp"
#include "store/sqlite/cache/ack_latencies.hpp"
#include "store/sqlite/cache/claim_bits.hpp"
#include "store/sqlite/cache/claim_cache.hpp"
#include "store/sqlite/cache/counters.hpp"
#include "store/sqlite/cache/lazy_session_rows.hpp"
#include "store/sqlite/cache/oldest.hpp"
#include "store/sqlite/cache/sender_shares.hpp"
#include "store/sqlite/cache/session_states.hpp"
#include "store/sqlite/outbound/gathered_rows.hpp"
#include "store/sqlite/sqlite_names.hpp"

namespace ackbox::store::sqlite {

/// The objects and values that the parts of a store share. Lives as long as the parts.
struct Context {
  Connection& connection;
  Counters& counters;
  SessionStates& states;
  LazySessionRows& lazyRows;
  Oldest& oldest;
  InFlight& inFlight;
  ClaimCache& claimCache;
  SenderShares& shares;
  AckLatencies& latencies;
  /// Flushed before any code looks at the outbox's rows.
  GatheredRows& gathered;
  const OutboxOptions& options;
  Clock& clock;
  Random& random;
  /// This store's row in the owners table.
  std::int64_t owner = 0;
  /// Discovery has returned all rows that were put back up to this recall (`PeerResets::recalls`): sessions of later
  /// ones must not be claimed yet.
  std::int64_t recallsDiscovered = 0;
  /// The number of recalls by any process, including the current transaction's.
  std::int64_t recallsMade = 0;
  /// The orders by any process, including the peers added and removed, as `Holds` has read them last.
  std::int64_t orders = -1;
  /// Sessions that were found damaged or missing since discovery last returned them.
  std::vector<delivery::SessionKey> damagedSessions = {};

  [[nodiscard]] Statement prepare(std::string_view sql) const { return connection.prepare(sql); }
};

}  // namespace ackbox::store::sqlite
