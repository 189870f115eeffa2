#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ackbox/frame.hpp"
#include "ackbox/publication.hpp"
#include "ackbox/receipt.hpp"
#include "store/postgres/context.hpp"
#include "store/postgres/outbound/subscribers.hpp"

namespace ackbox::store::postgres {

/// The keys that make an enqueue or a publish happen once. A key belongs to the peer of its enqueue, or to publishes.
/// Of two transactions that use a new key at the same time, the table refuses one, with `databaseBusy`.
class IdempotencyKeys {
public:
  explicit IdempotencyKeys(Context& context) : context_(context) {}

  /// The receipt of the first enqueue to `peer` with the key of `frame`; nothing if there was none, or it is over.
  [[nodiscard]] std::optional<EnqueueReceipt> find(const Frame& frame, delivery::PeerKey peer, WallTime now);
  [[nodiscard]] std::optional<PublishReceipt> findPublished(const Frame& frame, WallTime now);
  void remember(const Frame& frame, delivery::PeerKey peer, const EnqueueReceipt& receipt, WallTime now);
  void rememberPublished(const Frame& frame, std::span<const Subscriber> subscribers, const PublishReceipt& receipt,
                         WallTime now);

  /// Of up to `limit` keys whose retention is over: forgets them, except those of a message that is still there.
  /// Returns how many they were.
  std::size_t purge(WallTime now, std::size_t limit);

private:
  [[nodiscard]] std::vector<PublishedMessage> publishedWith(std::string_view key);
  [[nodiscard]] bool hasMessage(std::string_view key, delivery::PeerKey peer, std::string_view messageId);
  void forget(std::string_view key, delivery::PeerKey peer);

  Context& context_;
};

}  // namespace ackbox::store::postgres
