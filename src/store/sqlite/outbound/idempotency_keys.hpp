#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ackbox/frame.hpp"
#include "ackbox/publication.hpp"
#include "ackbox/receipt.hpp"
#include "delivery/types.hpp"
#include "sqlite/statement.hpp"
#include "store/sqlite/outbound/subscribers.hpp"
#include "store/sqlite/sqlite_names.hpp"

namespace ackbox::store::sqlite {

/// The used idempotency keys and their messages: one of an enqueue, any number of a publish. Only enqueues with a key
/// access them. A key belongs to the peer of its enqueue, or to publishes: for another peer, it is another key, so that
/// a caller that may send to one peer uses up no key of the others.
///
/// All in a transaction. Thread-safety: that of the connection.
class IdempotencyKeys {
public:
  IdempotencyKeys(sqlite3* connection, std::string_view prefix, std::chrono::milliseconds retention);

  /// The receipt of a repetition: the first message to `peer` with the key of `frame`. Nothing if the key is free or
  /// empty.
  [[nodiscard]] std::optional<EnqueueReceipt> find(const Frame& frame, delivery::PeerKey peer, WallTime now);
  /// Stores the key of `frame`, if it is not empty, for the message of `receipt` to `peer`. Deletes a few expired keys,
  /// so that they are deleted twice as fast as they are added.
  void remember(const Frame& frame, delivery::PeerKey peer, const EnqueueReceipt& receipt, WallTime now);
  /// The same for a publish.
  [[nodiscard]] std::optional<PublishReceipt> findPublished(const Frame& frame, WallTime now);
  void rememberPublished(const Frame& frame, std::span<const Subscriber> subscribers, const PublishReceipt& receipt,
                         WallTime now);

private:
  struct Used {
    std::string key = {};
    delivery::PeerKey peer = 0;
    std::string messageId = {};
  };

  void purge(WallTime now);
  [[nodiscard]] std::vector<PublishedMessage> publishedWith(std::string_view key);
  /// Whether a message that was enqueued or published with the key exists.
  [[nodiscard]] bool hasMessage(const Used& used);
  void forget(std::string_view key, delivery::PeerKey peer);
  [[nodiscard]] bool inOutbox(std::string_view messageId);

  const std::chrono::milliseconds retention_;
  Statement find_;
  Statement remember_;
  Statement over_;
  Statement extend_;
  Statement forget_;
  Statement inOutbox_;
  Statement published_;
  Statement rememberPublished_;
  Statement forgetPublished_;
};

}  // namespace ackbox::store::sqlite
