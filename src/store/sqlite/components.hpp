#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "sqlite/connection.hpp"
#include "sqlite/transaction.hpp"
#include "sqlite/vacuum.hpp"
#include "store/sqlite/cache/ack_latencies.hpp"
#include "store/sqlite/cache/claim_bits.hpp"
#include "store/sqlite/cache/claim_cache.hpp"
#include "store/sqlite/cache/counters.hpp"
#include "store/sqlite/cache/lazy_session_rows.hpp"
#include "store/sqlite/cache/oldest.hpp"
#include "store/sqlite/cache/sender_shares.hpp"
#include "store/sqlite/cache/session_states.hpp"
#include "store/sqlite/context.hpp"
#include "store/sqlite/inbound/inbound_marks.hpp"
#include "store/sqlite/inbound/inbox.hpp"
#include "store/sqlite/outbound/claims.hpp"
#include "store/sqlite/outbound/dead_letters.hpp"
#include "store/sqlite/outbound/discovery.hpp"
#include "store/sqlite/outbound/gathered_rows.hpp"
#include "store/sqlite/outbound/outbox.hpp"
#include "store/sqlite/outbound/outbox_rows.hpp"
#include "store/sqlite/outbound/settles.hpp"
#include "store/sqlite/peers/holds.hpp"
#include "store/sqlite/peers/liveness.hpp"
#include "store/sqlite/peers/owners.hpp"
#include "store/sqlite/peers/peer_resets.hpp"
#include "store/sqlite/peers/peers.hpp"
#include "store/sqlite/peers/subscriptions.hpp"
#include "store/sqlite/sqlite_names.hpp"

namespace ackbox::store::sqlite {

/// The parts with statements that need the tables.
struct Components {
  Components(Connection& connection, Transaction& transaction, OutboxOptions& options,
             std::shared_ptr<Liveness> liveness, LatencyWindow& window)
      : counters(connection.handle(), connection.prefix()),
        states(connection.handle(), connection.prefix()),
        lazyRows(connection.handle(), connection.prefix(), counters, states),
        oldest(connection.handle(), connection.prefix(), counters),
        inFlight(connection, states),
        shares(connection.handle(), connection.prefix(), counters),
        latencies(window, *options.clock),
        rows(connection.handle(), connection.prefix()),
        gathered(rows, claimCache),
        context{connection, counters,  states,   lazyRows, oldest,         inFlight,       claimCache,
                shares,     latencies, gathered, options,  *options.clock, *options.random},
        holds(context),
        discovery(context, transaction, holds),
        peers(context, options.peers, holds),
        peerResets(context, peers, discovery),
        subscriptions(context, holds),
        outbox(context, peers, subscriptions, rows, discovery),
        claims(context),
        settles(context, holds, peerResets),
        deadLetters(context, outbox, settles, holds),
        marks(context),
        inbox(context, marks),
        owners(context, std::move(liveness)),
        vacuum(connection),
        selectEpoch(connection.prepare("SELECT epoch FROM #meta")) {}

  template <typename Step>
  void forward(const Step& step) {
    for (WriteBack* const part : writeBacks) {
      step(*part);
    }
  }
  template <typename Step>
  void backward(const Step& step) {
    // NOLINTNEXTLINE(modernize-loop-convert): clang 14 does not compile the reversed views of libstdc++.
    for (auto part = writeBacks.rbegin(); part != writeBacks.rend(); ++part) {
      step(**part);
    }
  }

  Counters counters;
  SessionStates states;
  LazySessionRows lazyRows;
  Oldest oldest;
  InFlight inFlight;
  ClaimCache claimCache;
  SenderShares shares;
  AckLatencies latencies;
  OutboxRows rows;
  GatheredRows gathered;
  Context context;
  Holds holds;
  Discovery discovery;
  Peers peers;
  PeerResets peerResets;
  Subscriptions subscriptions;
  Outbox outbox;
  Claims claims;
  Settles settles;
  DeadLetters deadLetters;
  InboundMarks marks;
  Inbox inbox;
  Owners owners;
  Vacuum vacuum;
  Statement selectEpoch;

  /// All parts with memory that runs ahead of the file, in the order of a commit.
  const std::vector<WriteBack*> writeBacks = {
      // New rows come first, because the other parts look at the outbox's rows.
      &gathered,
      // Claims name rows and sessions. Acknowledged sequences go from here into the sessions' states.
      &inFlight,
      // Tails and gauges of sessions go from here, and from the counters, into the sessions' states.
      &lazyRows,
      // Follows the parts above, so that all changes of a session are written as one row.
      &states,
      // Marks of inbound frames, and their changes to senders' shares.
      &marks,
      &shares,
      // Looks at the remaining rows, and moves a counter.
      &oldest,
      // After all parts that count. Only now is it known whether the gauges must be recounted.
      &counters,
      // The remaining parts write nothing. These hand over committed data: latencies to the window, rows to discovery,
      // and then recalls, for which discovery starts over.
      &latencies,
      &outbox,
      &peerResets,
      // These only cache rows that were read.
      &claimCache,
      // After the holds, because steps go backward: a transaction begins with their count of orders.
      &peers,
      &subscriptions,
      &holds,
      &owners,
  };
};

}  // namespace ackbox::store::sqlite
