#pragma once

#include <cstdint>
#include <memory>

#include "ackbox/clock.hpp"
#include "ackbox/options.hpp"
#include "ackbox/random.hpp"
#include "sqlite/connection.hpp"
#include "store/sqlite/cache/claim_bits.hpp"
#include "store/sqlite/cache/claim_cache.hpp"
#include "store/sqlite/cache/counters.hpp"
#include "store/sqlite/cache/lazy_session_rows.hpp"
#include "store/sqlite/cache/oldest.hpp"
#include "store/sqlite/cache/sender_shares.hpp"
#include "store/sqlite/cache/session_states.hpp"

namespace ackbox::store {

/// What the parts of a store share. Lives as long as they do.
struct Context {
  Connection& connection;
  Counters& counters;
  SessionStates& states;
  LazySessionRows& tails;
  Oldest& oldest;
  InFlight& inFlight;
  ClaimCache& claimCache;
  SenderShares& shares;
  const OutboxOptions& options;
  Clock& clock;
  Random& random;
  /// This store's row in the owners table.
  std::int64_t owner = 0;
  /// Rows that were put back (`PeerResets::recalls`) have been told up to this time: sessions of later ones must not be
  /// claimed yet.
  std::int64_t recallsTold = 0;
  /// How often rows were put back, by anyone, in transactions that were committed before the present one: what came
  /// with the news of a reset is the peer's word from after it.
  std::int64_t recallsMade = 0;

  [[nodiscard]] Statement prepare(std::string_view sql) const { return connection.prepare(sql); }
};

}  // namespace ackbox::store
