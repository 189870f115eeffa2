#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "store/context.hpp"
#include "store/idempotency_keys.hpp"
#include "store/outbox_rows.hpp"
#include "store/peers.hpp"
#include "store/store.hpp"
#include "store/uuid.hpp"

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
  /// A nested scope was undone: only the first so many remain.
  void forgetAfter(std::size_t storedCount, std::size_t supersededCount);

  /// Writes the tails that changed.
  void flush();
  /// The file may say otherwise by now: after a rollback, or another connection's commit.
  void forgetSessions() noexcept;

private:
  struct NameHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const noexcept { return std::hash<std::string_view>()(name); }
  };
  struct CachedTail {
    SessionTail tail;
    bool dirty = false;
    /// Of the messages that made it dirty.
    delivery::MessageKey first = 0;
  };
  using Lane = std::unordered_map<std::string, CachedTail, NameHash, std::equal_to<>>;

  CachedTail& tailOf(const SessionName& session, std::uint8_t priority);
  void append(CachedTail& cached, const SessionTail& place, const delivery::RowSeen& row);
  [[nodiscard]] std::optional<EnqueueReceipt> repetitionOf(const Frame& frame);
  void remember(delivery::MessageKey key, const Frame& frame, const std::string& messageId, const SessionTail& place,
                WallTime now);
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
  // Into lanes_, whose elements do not move.
  std::vector<CachedTail*> dirty_;
  std::vector<delivery::RowSeen> stored_;
  std::vector<SupersededMessage> superseded_;
};

}  // namespace ackbox::store
