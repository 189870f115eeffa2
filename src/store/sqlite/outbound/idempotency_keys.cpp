#include "store/sqlite/outbound/idempotency_keys.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "store/decisions/used_keys.hpp"
#include "store/digest.hpp"
#include "store/sqlite/outbound/message_ids.hpp"

namespace ackbox::store::sqlite {
namespace {

constexpr std::size_t kPurgedPerKey = 2;

std::int64_t digestOf(const Frame& frame) {
  const std::string_view data = frame.data.empty() ? std::string_view("null") : frame.data;
  return RowDigest().add(frame.session).add(frame.type).add(data).value();
}

}  // namespace

IdempotencyKeys::IdempotencyKeys(sqlite3* connection, std::string_view prefix, std::chrono::milliseconds retention)
    : retention_(retention),
      find_(connection,
            "SELECT message_id,sequence,keep_until_ms,digest FROM #idempotency_keys WHERE key=?1 AND "
            "peer_id=?2",
            prefix),
      remember_(connection,
                "REPLACE INTO #idempotency_keys(key,peer_id,message_id,sequence,keep_until_ms,digest) "
                "VALUES(?1,?2,?3,?4,?5,?6)",
                prefix),
      over_(connection,
            "SELECT key,peer_id,message_id FROM #idempotency_keys WHERE keep_until_ms<=?1 ORDER BY keep_until_ms LIMIT "
            "?2",
            prefix),
      extend_(connection, "UPDATE #idempotency_keys SET keep_until_ms=?3 WHERE key=?1 AND peer_id=?2", prefix),
      forget_(connection, "DELETE FROM #idempotency_keys WHERE key=?1 AND peer_id=?2", prefix),
      inOutbox_(connection, std::string("SELECT 1 WHERE ").append(keyOfMessage()).append(" IS NOT NULL"), prefix),
      published_(connection,
                 "SELECT coalesce(p.name,''),m.message_id,m.sequence FROM #publications AS m LEFT JOIN #peers AS p ON "
                 "p.id=m.peer_id WHERE m.key=?1 ORDER BY m.position",
                 prefix),
      rememberPublished_(connection,
                         "INSERT INTO #publications(key,position,peer_id,message_id,sequence) VALUES(?1,?2,?3,?4,?5)",
                         prefix),
      forgetPublished_(connection, "DELETE FROM #publications WHERE key=?1", prefix) {}

std::optional<EnqueueReceipt> IdempotencyKeys::find(const Frame& frame, delivery::PeerKey peer, WallTime now) {
  const std::string& key = frame.idempotencyKey;
  if (key.empty()) {
    return std::nullopt;
  }
  EnqueueReceipt first{EnqueueStatus::duplicate, {}, 0, {}};
  {
    Query query(find_, key, peer);
    if (!query.next()) {
      return std::nullopt;
    }
    first.messageId = query.text(0);
    first.sequence = query.as<std::uint64_t>(1);
    first.isConflict = query.integer(3) != digestOf(frame);
    if (query.instant(2) > now) {
      return first;
    }
  }
  if (hasMessage({key, peer, first.messageId})) {
    return first;
  }
  // The messages of its publish must not remain for its next use.
  forget(key, peer);
  return std::nullopt;
}

std::optional<PublishReceipt> IdempotencyKeys::findPublished(const Frame& frame, WallTime now) {
  const std::optional<EnqueueReceipt> first = find(frame, kOfPublish, now);
  if (!first) {
    return std::nullopt;
  }
  return repeatedPublish(*first, publishedWith(frame.idempotencyKey));
}

void IdempotencyKeys::rememberPublished(const Frame& frame, std::span<const Subscriber> subscribers,
                                        const PublishReceipt& receipt, WallTime now) {
  const std::string& key = frame.idempotencyKey;
  remember(frame, kOfPublish, firstOf(receipt), now);
  for (std::size_t index = 0; !key.empty() && index < subscribers.size(); ++index) {
    const PublishedMessage& message = receipt.messages[index];
    Query(rememberPublished_, key, index, subscribers[index].peer, message.messageId, message.sequence).run();
  }
}

void IdempotencyKeys::remember(const Frame& frame, delivery::PeerKey peer, const EnqueueReceipt& receipt,
                               WallTime now) {
  if (frame.idempotencyKey.empty()) {
    return;
  }
  purge(now);
  Query(remember_, frame.idempotencyKey, peer, receipt.messageId, receipt.sequence, now + retention_, digestOf(frame))
      .run();
}

void IdempotencyKeys::purge(WallTime now) {
  std::vector<Used> over;
  {
    Query query(over_, now, kPurgedPerKey);
    while (query.next()) {
      over.push_back({query.text(0), query.integer(1), query.text(2)});
    }
  }
  for (const Used& used : over) {
    if (hasMessage(used)) {
      Query(extend_, used.key, used.peer, extendedUntil(now, retention_)).run();
    } else {
      forget(used.key, used.peer);
    }
  }
}

std::vector<PublishedMessage> IdempotencyKeys::publishedWith(std::string_view key) {
  std::vector<PublishedMessage> found;
  for (Query query(published_, key); query.next();) {
    found.push_back({query.text(0), query.text(1), query.as<std::uint64_t>(2), {}});
  }
  return found;
}

bool IdempotencyKeys::hasMessage(const Used& used) {
  if (used.peer != kOfPublish) {
    return inOutbox(used.messageId);
  }
  return std::ranges::any_of(publishedWith(used.key),
                             [this](const PublishedMessage& message) { return inOutbox(message.messageId); });
}

void IdempotencyKeys::forget(std::string_view key, delivery::PeerKey peer) {
  Query(forget_, key, peer).run();
  if (peer == kOfPublish) {
    Query(forgetPublished_, key).run();
  }
}

bool IdempotencyKeys::inOutbox(std::string_view messageId) {
  return Query(inOutbox_, messageId).next();
}

}  // namespace ackbox::store::sqlite
