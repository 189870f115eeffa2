#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <unordered_map>

#include "reception/types.hpp"

namespace ackbox::reception {

/// Queues whose first frame waits for its turn, in a fair order: senders take turns, and the queues of a sender.
class TurnQueue {
public:
  struct Entry {
    QueueNumber queue = 0;
    /// Distinguishes it from earlier entries of the queue, which count no more.
    std::uint64_t ticket = 0;
  };

  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
  /// Behind the sender's other queues; a sender without any is behind the other senders.
  void push(SenderNumber sender, Entry entry);
  /// Removes the next one that `counts`, and those before it that do not: these are no turns of their sender.
  std::optional<Entry> pop(const std::function<bool(const Entry&)>& counts);
  /// The one that `pop` would remove; null if there is nothing to remove. Valid until the next call.
  const Entry* peek(const std::function<bool(const Entry&)>& counts);

private:
  /// Removes what does not count before the first one that does.
  void dropOld(const std::function<bool(const Entry&)>& counts);

  std::deque<SenderNumber> order_;
  // Those in order_, each with at least one entry.
  std::unordered_map<SenderNumber, std::deque<Entry>> entries_;
};

}  // namespace ackbox::reception
