#include "store/sqlite/outbound/idempotency_keys.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "store/sqlite/outbound/message_ids.hpp"

namespace ackbox::store::sqlite {
namespace {

constexpr std::size_t kPurgedPerKey = 2;

// The minimum time between two checks of a key that outlasts its retention.
constexpr std::chrono::milliseconds kExtensionMin = std::chrono::minutes(1);

}  // namespace

IdempotencyKeys::IdempotencyKeys(sqlite3* connection, std::string_view prefix, std::chrono::milliseconds retention)
    : retention_(retention),
      find_(connection, "SELECT message_id,sequence,keep_until_ms FROM #idempotency_keys WHERE key=?1", prefix),
      remember_(connection, "REPLACE INTO #idempotency_keys(key,message_id,sequence,keep_until_ms) VALUES(?1,?2,?3,?4)",
                prefix),
      over_(connection,
            "SELECT key,message_id FROM #idempotency_keys WHERE keep_until_ms<=?1 ORDER BY keep_until_ms LIMIT ?2",
            prefix),
      extend_(connection, "UPDATE #idempotency_keys SET keep_until_ms=?2 WHERE key=?1", prefix),
      forget_(connection, "DELETE FROM #idempotency_keys WHERE key=?1", prefix),
      inOutbox_(connection, std::string("SELECT 1 WHERE ").append(keyOfMessage()).append(" IS NOT NULL"), prefix) {}

std::optional<EnqueueReceipt> IdempotencyKeys::find(std::string_view key, WallTime now) {
  if (key.empty()) {
    return std::nullopt;
  }
  EnqueueReceipt first{EnqueueStatus::duplicate, {}, 0, {}};
  {
    Query query(find_, key);
    if (!query.next()) {
      return std::nullopt;
    }
    first.messageId = query.text(0);
    first.sequence = query.as<std::uint64_t>(1);
    if (query.instant(2) > now) {
      return first;
    }
  }
  return inOutbox(first.messageId) ? std::optional(std::move(first)) : std::nullopt;
}

void IdempotencyKeys::remember(std::string_view key, const EnqueueReceipt& receipt, WallTime now) {
  if (key.empty()) {
    return;
  }
  purge(now);
  Query(remember_, key, receipt.messageId, receipt.sequence, now + retention_).run();
}

void IdempotencyKeys::purge(WallTime now) {
  std::vector<std::pair<std::string, std::string>> over;
  {
    Query query(over_, now, kPurgedPerKey);
    while (query.next()) {
      over.emplace_back(query.text(0), query.text(1));
    }
  }
  for (const auto& [key, messageId] : over) {
    if (inOutbox(messageId)) {
      Query(extend_, key, now + std::max(retention_, kExtensionMin)).run();
    } else {
      Query(forget_, key).run();
    }
  }
}

bool IdempotencyKeys::inOutbox(std::string_view messageId) {
  return Query(inOutbox_, messageId).next();
}

}  // namespace ackbox::store::sqlite
