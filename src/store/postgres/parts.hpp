// The parts of the store in PostgreSQL, and what they share: its own sources' only.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/options.hpp"
#include "store/postgres/handler_scopes.hpp"
#include "store/postgres/inbound/inbound_marks.hpp"
#include "store/postgres/inbound/inbox.hpp"
#include "store/postgres/lock_wait.hpp"
#include "store/postgres/outbound/claims.hpp"
#include "store/postgres/outbound/dead_letters.hpp"
#include "store/postgres/outbound/discovery.hpp"
#include "store/postgres/outbound/handler_outbox.hpp"
#include "store/postgres/outbound/idempotency_keys.hpp"
#include "store/postgres/outbound/outbox.hpp"
#include "store/postgres/outbound/settles.hpp"
#include "store/postgres/peers/holds.hpp"
#include "store/postgres/peers/owners.hpp"
#include "store/postgres/peers/peer_resets.hpp"
#include "store/postgres/peers/peers.hpp"
#include "store/postgres/peers/subscriptions.hpp"
#include "store/postgres/postgres_store.hpp"
#include "store/postgres/schema/versions.hpp"
#include "store/postgres/signs.hpp"

namespace ackbox::store::postgres {

struct PostgresStore::Impl {
  Impl(const std::string& location, const OutboxOptions& givenOptions, const std::string& token,
       std::shared_ptr<ConnectionEvents> givenEvents)
      : options(validated(givenOptions)), connection(location), events(std::move(givenEvents)) {
    if (!token.empty()) {
      notifier.emplace(location, token);
    }
    context.flushRows = [this] {
      rows.flush();
      released.flush();
    };
  }

  void open();
  void limitWaits();
  void reconnect();
  void restart();
  void noteServer();
  void noteRun();
  void requireOrigin();
  [[nodiscard]] bool hasCommitted();
  [[nodiscard]] FailedFor whyFailed() const noexcept;
  [[nodiscard]] bool isLostByHandler() noexcept;
  /// Ends a scope of `scopes`.
  void endScope(void (*end)(HandlerScopes&));
  void begun(const Row& meta);
  template <typename Step>
  void each(const Step& step) {
    for (Memory* const memory : memories) {
      step(*memory);
    }
  }

  OutboxOptions options;
  const Schema& schema = currentSchema();
  Connection connection;
  LatencyWindow window;
  Counts counts{connection, true};
  Shares shares{connection, counts};
  ReleasedClaims released{connection};
  Context context{connection, counts, shares, released, options, *options.clock, *options.random};
  Holds holds{context};
  Discovery discovery{context, holds};
  Peers peers{context, options.peers, holds};
  PeerResets peerResets{context, peers, discovery};
  Subscriptions subscriptions{context, holds};
  NewRows rows{context};
  Outbox outbox{context, peers, rows};
  Claims claims{context};
  AckLatencies latencies{window, *options.clock};
  Settles settles{context, holds, peerResets, latencies};
  DeadLetters deadLetters{context, outbox, settles, holds};
  InboundMarks marks{context};
  Owners owners{context};
  Inbox inbox{context, marks, owners};
  HandlerScopes scopes{context, owners};

  // In the order of a commit: counts come after all parts that count.
  const std::vector<Memory*> memories = {&rows,      &released, &marks, &shares,     &counts,    &outbox,
                                         &latencies, &settles,  &peers, &peerResets, &discovery, &owners};
  // Those that an enqueue changes, in that order.
  const std::vector<Memory*> ofEnqueues = {&rows, &counts, &outbox};
  HandlerOutbox handlerOutbox{context, scopes, rows, outbox, ofEnqueues};

  std::optional<Notifier> notifier;
  std::string origin;
  // The database has another outbox than at the opening.
  std::atomic<bool> isReplaced = false;
  std::uint64_t epoch = 0;
  OpeningLook look;
  std::string unsafe;
  std::string otherAgent;
  const std::shared_ptr<ConnectionEvents> events;
  // Set from the loss of the connection until there is another.
  std::optional<SteadyTime> lostAt;
  std::optional<SteadyTime> tidiedAt;
  // Foreign code runs: `handlerOutbox` is the outbox.
  bool isGuarded = false;
  // The transaction's number, if its outcome matters where its answer is lost.
  std::string transaction;
  // Whether the transaction's outcome matters where its answer is lost.
  bool isDurable = false;
  bool hasBegun = false;
  FailedFor failedFor = FailedFor::job;
  // The connection was lost at the COMMIT, and it is certain that nothing was committed.
  bool isUndone = false;
  // A COMMIT was sent, and what became of it could not be found out.
  bool isUnknown = false;
  // How often the connection was lost while foreign code ran, since the last commit.
  int lostInHandlers = 0;
};

}  // namespace ackbox::store::postgres
