#include "store/postgres/outbound/idempotency_keys.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace ackbox::store::postgres {
namespace {

constexpr int kPurgedPerKey = 2;

// The minimum time between two checks of a key that outlasts its retention.
constexpr std::chrono::milliseconds kExtensionMin = std::chrono::minutes(1);

}  // namespace

std::optional<EnqueueReceipt> IdempotencyKeys::find(std::string_view key, WallTime now) {
  if (key.empty()) {
    return std::nullopt;
  }
  const Result result = context_.connection.run(
      "SELECT message_id,sequence,keep_until_ms FROM #idempotency_keys WHERE key=$1 FOR NO KEY UPDATE", key);
  if (result.empty()) {
    return std::nullopt;
  }
  const Row row = result.front();
  EnqueueReceipt first{EnqueueStatus::duplicate, row.text(0), row.as<std::uint64_t>(1), {}};
  if (first.messageId.empty()) {
    first.detail = "the key was used by a publish that nobody had subscribed to: use another key";
  }
  if (row.instant(2) > now || hasMessage(key, first.messageId)) {
    return first;
  }
  // The messages of its publish must not remain for its next use.
  forget(key);
  return std::nullopt;
}

std::optional<PublishReceipt> IdempotencyKeys::findPublished(std::string_view key, WallTime now) {
  std::optional<EnqueueReceipt> first = find(key, now);
  if (!first) {
    return std::nullopt;
  }
  PublishReceipt receipt{PublishStatus::duplicate, publishedWith(key), {}};
  if (receipt.messages.empty() && !first->messageId.empty()) {
    receipt.messages.push_back({{}, std::move(first->messageId), first->sequence, {}});
    receipt.detail = "the key was used by an enqueue to one peer";
  } else if (receipt.messages.empty()) {
    receipt.detail = "nobody had subscribed when the key was first used: nothing was stored then or now";
  }
  return receipt;
}

void IdempotencyKeys::rememberPublished(std::string_view key, std::span<const Subscriber> subscribers,
                                        const PublishReceipt& receipt, WallTime now) {
  EnqueueReceipt first;
  if (!receipt.messages.empty()) {
    first.messageId = receipt.messages.front().messageId;
    first.sequence = receipt.messages.front().sequence;
  }
  remember(key, first, now);
  for (std::size_t index = 0; !key.empty() && index < subscribers.size(); ++index) {
    const PublishedMessage& message = receipt.messages[index];
    context_.connection.run(
        "INSERT INTO #publications(key,position,peer_id,message_id,sequence) VALUES($1,$2,$3,$4,$5)", key, index,
        subscribers[index].peer, message.messageId, message.sequence);
  }
}

void IdempotencyKeys::remember(std::string_view key, const EnqueueReceipt& receipt, WallTime now) {
  if (key.empty()) {
    return;
  }
  purge(now);
  context_.connection.run("INSERT INTO #idempotency_keys(key,message_id,sequence,keep_until_ms) VALUES($1,$2,$3,$4)",
                          key, receipt.messageId, receipt.sequence, now + context_.options.idempotencyRetention);
}

void IdempotencyKeys::purge(WallTime now) {
  // Passes over a key that another transaction looks at.
  const Result over = context_.connection.run(
      "SELECT key,message_id FROM #idempotency_keys WHERE keep_until_ms<=$1 ORDER BY keep_until_ms LIMIT $2 FOR UPDATE "
      "SKIP LOCKED",
      now, kPurgedPerKey);
  for (const Row& row : over) {
    const std::string key = row.text(0);
    if (hasMessage(key, row.view(1))) {
      context_.connection.run("UPDATE #idempotency_keys SET keep_until_ms=$2 WHERE key=$1", key,
                              now + std::max(context_.options.idempotencyRetention, kExtensionMin));
    } else {
      forget(key);
    }
  }
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

bool IdempotencyKeys::hasMessage(std::string_view key, std::string_view messageId) {
  context_.flushRows();
  return !context_.connection
              .run(
                  "SELECT 1 FROM #outbox WHERE message_id=ANY(ARRAY(SELECT $2::text UNION ALL SELECT message_id FROM "
                  "#publications WHERE key=$1)) LIMIT 1",
                  key, messageId)
              .empty();
}

void IdempotencyKeys::forget(std::string_view key) {
  context_.connection.run("DELETE FROM #idempotency_keys WHERE key=$1", key);
  context_.connection.run("DELETE FROM #publications WHERE key=$1", key);
}

}  // namespace ackbox::store::postgres
