#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ackbox/frame.hpp"
#include "ackbox/options.hpp"
#include "ackbox/receipt.hpp"
#include "delivery/types.hpp"
#include "store/counters.hpp"
#include "store/sql.hpp"

namespace ackbox::store {

/// A session's row, as enqueues need it.
struct SessionTail {
  delivery::SessionKey key = 0;
  std::uint64_t lastSequence = 0;
};

/// The statements of an enqueue, the same on our connection and on an application's.
class OutboxRows {
public:
  OutboxRows(sqlite3* connection, std::string_view prefix);

  [[nodiscard]] std::optional<SessionTail> findSession(delivery::PeerKey peer, std::string_view name);
  [[nodiscard]] SessionTail insertSession(delivery::PeerKey peer, std::string_view name);
  /// Writes the tail, and what it changed in the session's gauges.
  void updateSession(const SessionTail& tail, const Counters::SessionChange& change);

  /// Stores a pending row. Nothing when the message id is taken.
  [[nodiscard]] std::optional<delivery::MessageKey> insert(const Frame& frame, std::string_view messageId,
                                                           const SessionTail& place, WallTime now);
  /// The sequence of the row with this id, if it is still there.
  [[nodiscard]] std::optional<std::uint64_t> sequenceOf(std::string_view messageId);

private:
  sqlite3* const connection_;
  Statement findSession_;
  Statement insertSession_;
  Statement updateSession_;
  Statement insert_;
  Statement sequenceOf_;
};

/// The refusal that `frame` meets, whatever the queue: its peer is unknown or it is too large.
[[nodiscard]] std::optional<EnqueueReceipt> refuseFrame(const Frame& frame, bool peerKnown,
                                                        const OutboxOptions& options);

/// The refusal of a full queue.
[[nodiscard]] std::optional<EnqueueReceipt> refuseFull(const Frame& frame, std::uint64_t live, std::uint64_t liveBytes,
                                                       const OutboxOptions& options);

}  // namespace ackbox::store
