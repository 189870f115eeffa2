#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ackbox/clock.hpp"
#include "ackbox/frame.hpp"
#include "ackbox/options.hpp"
#include "ackbox/publication.hpp"
#include "ackbox/random.hpp"
#include "ackbox/receipt.hpp"
#include "store/sqlite/cache/counters.hpp"
#include "store/sqlite/cache/lazy_session_rows.hpp"
#include "store/sqlite/outbound/idempotency_keys.hpp"
#include "store/sqlite/outbound/outbox_rows.hpp"
#include "store/sqlite/outbound/subscribers.hpp"
#include "store/types.hpp"

namespace ackbox::store::sqlite {

/// The steps of an enqueue, the same on the store's own connection, with all of the store's caches, and on an
/// application's connection, with no state between two calls. The differing steps are virtual.
///
/// All in a transaction. Thread-safety: that of the connection.
class EnqueueSteps {
public:
  virtual ~EnqueueSteps() = default;
  EnqueueSteps(const EnqueueSteps&) = delete;
  EnqueueSteps& operator=(const EnqueueSteps&) = delete;

protected:
  EnqueueSteps(sqlite3* connection, const OutboxOptions& options, Clock& clock, Random& random, OutboxRows& rows,
               Counters& counters, LazySessionRows& lazyRows);

  /// `peer`: nothing if the frame's peer is not configured.
  EnqueueReceipt run(const Frame& frame, std::optional<delivery::PeerKey> peer);
  /// Stores the frame once for each subscriber, or for none.
  PublishReceipt publish(const Frame& frame, std::span<const Subscriber> subscribers);
  /// Counts the row at `place`, and moves its session's `tail` there. `bytes`: the size of its data.
  void append(delivery::PeerKey peer, SessionTail& tail, const SessionTail& place, delivery::MessageKey key,
              std::int64_t bytes);
  /// Forgets the excess, because the gauges are read again.
  void forgetExcess() noexcept { excess_ = {}; }

  /// Called before the outbox's rows are looked at.
  virtual void beforeLook() {}
  /// Called before the gauges and the tails are used, and the claims if `frame` supersedes.
  virtual void beforeChange(const Frame& frame) = 0;
  /// Whether no message is live, as far as a bounded look shows.
  [[nodiscard]] virtual bool isNoneLive() = 0;
  /// The session's tail; creates the session if it does not exist. Valid until the next call.
  [[nodiscard]] virtual SessionTail& tailOf(const SessionName& session, std::uint8_t priority) = 0;
  virtual void insert(NewRow&& row, const Frame& frame) = 0;
  virtual void priorityChanged(const SessionTail& /*place*/) {}
  /// `message` was superseded by the message of `receipt`.
  virtual void superseded(const Supersedable& /*message*/, const Frame& /*frame*/, const EnqueueReceipt& /*receipt*/) {}

private:
  /// `times`: as how many messages.
  [[nodiscard]] std::optional<EnqueueReceipt> refuse(const Frame& frame, const std::vector<Supersedable>& replaced,
                                                     std::size_t times = 1);
  [[nodiscard]] EnqueueReceipt store(delivery::PeerKey peer, const Frame& frame,
                                     const std::vector<Supersedable>& replaced, WallTime now);
  void supersede(const std::vector<Supersedable>& messages, const Frame& frame, EnqueueReceipt& receipt);

  const OutboxOptions& options_;
  Clock& clock_;
  Random& random_;
  OutboxRows& rows_;
  Counters& counters_;
  LazySessionRows& lazyRows_;
  IdempotencyKeys keys_;
  UuidGenerator uuids_;
  // The amount by which the gauges are known to be too high in this transaction, after foreign statements.
  Fill excess_;
};

}  // namespace ackbox::store::sqlite
