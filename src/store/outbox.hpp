#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "store/context.hpp"
#include "store/outbox_rows.hpp"
#include "store/peers.hpp"
#include "store/uuid.hpp"

namespace ackbox::store {

/// Enqueues on the store's own connection: keeps the sessions' tails in memory and writes each once per commit.
///
/// All in a transaction. Thread-safety: none.
class Outbox {
public:
  Outbox(Context& context, const Peers& peers);

  EnqueueReceipt enqueue(const Frame& frame);

  /// Puts a dead letter at its session's tail, as a new row with a new sequence. Returns the sequence.
  std::uint64_t redrive(delivery::MessageKey key, delivery::PeerKey peer, std::string_view session);

  /// Rows stored since the last `takeStored` or `forget`, in key order.
  [[nodiscard]] const std::vector<delivery::RowSeen>& stored() const noexcept { return stored_; }
  [[nodiscard]] std::vector<delivery::RowSeen> takeStored();
  /// A nested scope was undone: only the first `count` stored rows remain.
  void forgetStoredAfter(std::size_t count);

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
  };
  using Lane = std::unordered_map<std::string, CachedTail, NameHash, std::equal_to<>>;

  CachedTail& tailOf(delivery::PeerKey peer, std::string_view session);
  void append(CachedTail& cached, const SessionTail& place, delivery::MessageKey key);

  Context& context_;
  const Peers& peers_;
  OutboxRows rows_;
  Statement redrive_;
  Statement bytesOf_;
  UuidGenerator uuids_;
  std::unordered_map<delivery::PeerKey, Lane> lanes_;
  std::size_t cached_ = 0;
  // Into lanes_, whose elements do not move.
  std::vector<CachedTail*> dirty_;
  std::vector<delivery::RowSeen> stored_;
};

}  // namespace ackbox::store
