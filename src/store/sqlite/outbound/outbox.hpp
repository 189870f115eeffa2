#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "store/sqlite/context.hpp"
#include "store/sqlite/outbound/idempotency_keys.hpp"
#include "store/sqlite/outbound/outbox_rows.hpp"
#include "store/sqlite/peers/peers.hpp"
#include "store/sqlite/store.hpp"

namespace ackbox::store {

/// Enqueues on the store's own connection: keeps the sessions' tails in memory and writes each once per commit.
///
/// All in a transaction. Thread-safety: none.
class Outbox {
public:
  Outbox(Context& context, const Peers& peers);

  EnqueueReceipt enqueue(const Frame& frame);

  /// A dead letter, and where it stood.
  struct Redrive {
    delivery::MessageKey key = 0;
    delivery::SessionKey session = 0;
    delivery::PeerKey peer = 0;
    std::string_view sessionName;
    /// 0: it is unordered.
    std::uint64_t sequence = 0;
  };
  /// Puts a dead letter at its session's tail, as a new row with a new sequence. Returns the sequence.
  std::uint64_t redrive(const Redrive& letter);

  /// Rows stored since the last `forgetAfter`, in key order.
  [[nodiscard]] const std::vector<delivery::RowSeen>& stored() const noexcept { return stored_; }
  /// Messages that were taken away for others since the last `takeSuperseded` or `forget`.
  [[nodiscard]] const std::vector<SupersededMessage>& superseded() const noexcept { return superseded_; }
  [[nodiscard]] std::vector<SupersededMessage> takeSuperseded();
  /// A nested scope, or all, was undone or is committed: only the first so many remain.
  void forgetAfter(std::size_t storedCount, std::size_t supersededCount);

  /// Writes the rows that have gathered. Before anything else that looks at the outbox's rows, the commit and a
  /// nested scope; an error is of any of the enqueues before.
  void flush();
  /// Forgets the sessions when they have become too many. Not before the transaction's last enqueue.
  void forgetTooMany() noexcept;
  /// The file may say otherwise by now: after a rollback, or another connection's commit.
  void forgetSessions() noexcept;

private:
  struct NameHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const noexcept { return std::hash<std::string_view>()(name); }
  };
  using Lane = std::unordered_map<std::string, SessionTail, NameHash, std::equal_to<>>;

  SessionTail& tailOf(const SessionName& session, std::uint8_t priority);
  SessionTail begin(const SessionName& session, std::uint8_t priority);
  void append(delivery::PeerKey peer, SessionTail& tail, const SessionTail& place, const delivery::RowSeen& row,
              std::int64_t bytes);
  [[nodiscard]] bool isSaidToBeFull();
  void supersede(const std::vector<Supersedable>& messages, const Frame& frame, EnqueueReceipt& receipt);

  Context& context_;
  const Peers& peers_;
  OutboxRows rows_;
  IdempotencyKeys keys_;
  Statement redrive_;
  Statement bytesOf_;
  UuidGenerator uuids_;
  std::unordered_map<delivery::PeerKey, Lane> lanes_;
  std::size_t cached_ = 0;
  // Not in the file yet.
  std::vector<NewRow> gathered_;
  std::vector<delivery::RowSeen> stored_;
  std::vector<SupersededMessage> superseded_;
};

}  // namespace ackbox::store
