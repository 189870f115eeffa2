#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <unordered_map>

#include "reception/types.hpp"

namespace ackbox::reception {

/// Queues with a first frame that waits for its turn, in a fair order: senders take turns, as do a sender's queues.
class TurnQueue {
public:
  struct Entry {
    QueueNumber queue = 0;
    /// Distinguishes it from earlier entries of the queue, which no longer count.
    std::uint64_t ticket = 0;
  };

  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
  /// The entries, with those that no longer count.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// Adds the entry behind the sender's other queues; a sender without any goes behind the other senders.
  void push(SenderNumber sender, Entry entry);
  /// Removes the next entry that `counts`, and the entries before it that do not, which use no turn of their sender.
  std::optional<Entry> pop(const std::function<bool(const Entry&)>& counts);
  /// The entry that `pop` would return; null if none counts. Valid until the next call.
  const Entry* peek(const std::function<bool(const Entry&)>& counts);
  /// Calls `visit` for the entries, with those that no longer count, in no order, until it returns false.
  void visit(const std::function<bool(const Entry&)>& visit) const;
  /// Removes all entries that do not count.
  void sweep(const std::function<bool(const Entry&)>& counts);

private:
  /// Removes the entries before the first one that counts.
  void dropOld(const std::function<bool(const Entry&)>& counts);

  std::deque<SenderNumber> order_;
  // The senders in `order_`, each with at least one entry.
  std::unordered_map<SenderNumber, std::deque<Entry>> entries_;
  std::size_t size_ = 0;
};

}  // namespace ackbox::reception
