#pragma once

#include <cstdint>
#include <memory>

#include "ackbox/clock.hpp"
#include "ackbox/options.hpp"
#include "ackbox/random.hpp"
#include "store/claim_cache.hpp"
#include "store/claim_set.hpp"
#include "store/connection.hpp"
#include "store/counters.hpp"
#include "store/oldest.hpp"
#include "store/sender_shares.hpp"
#include "store/session_states.hpp"
#include "store/tails.hpp"

namespace ackbox::store {

/// What the parts of a store share. Lives as long as they do.
struct Context {
  Connection& connection;
  Counters& counters;
  SessionStates& states;
  Tails& tails;
  Oldest& oldest;
  InFlight& inFlight;
  ClaimCache& claimCache;
  SenderShares& shares;
  const OutboxOptions& options;
  Clock& clock;
  Random& random;
  /// This store's row in the owners table.
  std::int64_t owner = 0;
  /// Rows that were put back (`PeerMemory::recalls`) have been told up to this time: sessions of later ones must not be
  /// claimed yet.
  std::int64_t recallsTold = 0;
  /// How often rows were put back, by anyone, in transactions that were committed before the present one: what came
  /// with the news of a reset is the peer's word from after it.
  std::int64_t recallsMade = 0;

  [[nodiscard]] Statement prepare(std::string_view sql) const { return connection.prepare(sql); }
};

}  // namespace ackbox::store
