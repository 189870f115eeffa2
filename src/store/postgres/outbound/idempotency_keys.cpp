#include "store/postgres/outbound/idempotency_keys.hpp"

#include <string>

#include "store/decisions/used_keys.hpp"

namespace ackbox::store::postgres {
namespace {

// What a key was given for, as `#digest` takes it.
Blob dataOf(const Frame& frame) {
  return {frame.data.empty() ? std::string_view("null") : frame.data};
}

}  // namespace

std::optional<EnqueueReceipt> IdempotencyKeys::find(const Frame& frame, delivery::PeerKey peer, WallTime now) {
  const std::string& key = frame.idempotencyKey;
  if (key.empty()) {
    return std::nullopt;
  }
  const Result result = context_.connection.run(
      "SELECT message_id,sequence,keep_until_ms,digest<>'' AND digest<>#digest($3,$4,$5) FROM #idempotency_keys WHERE "
      "key=$1 AND "
      "peer_id=$2 FOR NO KEY UPDATE",
      key, peer, frame.session, frame.type, dataOf(frame));
  if (result.empty()) {
    return std::nullopt;
  }
  const Row row = result.front();
  EnqueueReceipt first{EnqueueStatus::duplicate, row.text(0), row.as<std::uint64_t>(1), {}};
  first.isConflict = row.integer(3) != 0;
  if (row.instant(2) > now || hasMessage(key, peer, first.messageId)) {
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
    context_.connection.run(
        "INSERT INTO #publications(key,position,peer_id,message_id,sequence) VALUES($1,$2,$3,$4,$5)", key, index,
        subscribers[index].peer, message.messageId, message.sequence);
  }
}

void IdempotencyKeys::remember(const Frame& frame, delivery::PeerKey peer, const EnqueueReceipt& receipt,
                               WallTime now) {
  if (frame.idempotencyKey.empty()) {
    return;
  }
  context_.connection.run(
      "INSERT INTO #idempotency_keys(key,peer_id,message_id,sequence,keep_until_ms,digest) VALUES($1,$2,$3,$4,$5,"
      "#digest($6,$7,$8))",
      frame.idempotencyKey, peer, receipt.messageId, receipt.sequence, now + context_.options.idempotencyRetention,
      frame.session, frame.type, dataOf(frame));
}

std::size_t IdempotencyKeys::purge(WallTime now, std::size_t limit) {
  context_.flushRows();
  // Passes over a key that another transaction looks at.
  return context_.connection
      .run(
          "WITH over AS MATERIALIZED (SELECT k.key,k.peer_id,EXISTS(SELECT 1 FROM #outbox AS o WHERE "
          "o.message_id=k.message_id) OR k.peer_id=0 AND EXISTS(SELECT 1 FROM #publications AS p JOIN #outbox AS o ON "
          "o.message_id=p.message_id WHERE p.key=k.key) AS is_used FROM #idempotency_keys AS k WHERE "
          "k.keep_until_ms<=$1 ORDER BY k.keep_until_ms LIMIT $2 FOR UPDATE OF k SKIP LOCKED),"
          "extended AS (UPDATE #idempotency_keys AS k SET keep_until_ms=$3 FROM over AS v WHERE v.is_used AND "
          "k.key=v.key AND k.peer_id=v.peer_id),"
          "publications AS (DELETE FROM #publications AS p USING over AS v WHERE NOT v.is_used AND v.peer_id=0 AND "
          "p.key=v.key),"
          "keys AS (DELETE FROM #idempotency_keys AS k USING over AS v WHERE NOT v.is_used AND k.key=v.key AND "
          "k.peer_id=v.peer_id) SELECT count(*) FROM over",
          now, limit, extendedUntil(now, context_.options.idempotencyRetention))
      .front()
      .as<std::size_t>(0);
}

std::vector<PublishedMessage> IdempotencyKeys::publishedWith(std::string_view key) {
  std::vector<PublishedMessage> found;
  for (const Row& row : context_.connection.run(
           "SELECT coalesce(p.name,''),m.message_id,m.sequence FROM #publications AS m LEFT JOIN #peers AS p ON "
           "p.id=m.peer_id WHERE m.key=$1 ORDER BY m.position",
           key)) {
    found.push_back({row.text(0), row.text(1), row.as<std::uint64_t>(2), {}});
  }
  return found;
}

bool IdempotencyKeys::hasMessage(std::string_view key, delivery::PeerKey peer, std::string_view messageId) {
  context_.flushRows();
  return !context_.connection
              .run(
                  "SELECT 1 FROM #outbox WHERE message_id=ANY(ARRAY(SELECT $3::text WHERE $2::bigint<>0 UNION ALL "
                  "SELECT "
                  "message_id FROM #publications WHERE key=$1 AND $2::bigint=0)) LIMIT 1",
                  key, peer, messageId)
              .empty();
}

void IdempotencyKeys::forget(std::string_view key, delivery::PeerKey peer) {
  context_.connection.run("DELETE FROM #idempotency_keys WHERE key=$1 AND peer_id=$2", key, peer);
  if (peer == kOfPublish) {
    context_.connection.run("DELETE FROM #publications WHERE key=$1", key);
  }
}

}  // namespace ackbox::store::postgres
