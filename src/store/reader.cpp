#include "store/reader.hpp"

#include <limits>
#include <mutex>
#include <utility>

#include "store/counters.hpp"
#include "store/dead_letters.hpp"
#include "store/explainer.hpp"
#include "store/snapshot.hpp"

namespace ackbox::store {

namespace {

constexpr const char* kInfoColumns =
    "p.name,s.name,o.type,o.sequence,o.state,o.retry_count,o.created_at_ms,max(o.due_at_ms,s.due_at_ms*(o.state=0)),"
    "o.reason,o.last_error";
constexpr int kInfoColumnCount = 10;
// Dead letters that one page looks at, so that a filter that chooses few does not keep other readers waiting.
constexpr std::size_t kPageLooks = 10'000;

MessageInfo infoOf(const Query& query, std::string_view messageId) {
  MessageInfo info;
  info.messageId = std::string(messageId);
  info.peer = query.text(0);
  info.session = query.text(1);
  info.type = query.text(2);
  info.sequence = query.as<std::uint64_t>(3);
  info.state = query.as<MessageState>(4);
  info.retryCount = query.as<std::uint32_t>(5);
  info.enqueuedAt = query.instant(6);
  info.dueAt = query.instant(7);
  info.reason = query.text(8);
  info.lastError = query.text(9);
  return info;
}

OutboxOptions withClock(OutboxOptions options) {
  if (!options.clock) {
    options.clock = systemClock();
  }
  return options;
}

}  // namespace

struct Reader::Body {
  Body(const std::filesystem::path& file, const OutboxOptions& givenOptions)
      : options(withClock(givenOptions)),
        database(openForReading(file, options)),
        counters(database.getHandle(), options.tablePrefix),
        oldest(database.getHandle(),
               "SELECT id,created_at_ms FROM #outbox WHERE id>=?1 AND state IN (0,1,2) ORDER BY id LIMIT 1",
               options.tablePrefix),
        find(database.getHandle(),
             "SELECT " + std::string(kInfoColumns) +
                 " FROM #outbox AS o JOIN #sessions AS s ON s.id=o.session_id JOIN #peers AS p ON p.id=s.peer_id "
                 "WHERE o.message_id=?1",
             options.tablePrefix),
        deadLetters(database.getHandle(), deadLetterSelect(std::string(kInfoColumns) + ",o.message_id,o.id"),
                    options.tablePrefix),
        explainer(database.getHandle(), options) {}

  std::optional<WallTime> readOldest();
  std::optional<MessageInfo> readMessage(std::string_view messageId);

  // Constant after construction.
  const OutboxOptions options;

  std::mutex mutex;
  // Guarded by mutex.
  SQLite::Database database;
  Counters counters;
  Statement oldest;
  Statement find;
  Statement deadLetters;
  Explainer explainer;
  // No row below it is live, nor ever will be: a redriven message gets a new key.
  std::int64_t oldestKey = 0;
};

Reader::Reader(const std::filesystem::path& file, const OutboxOptions& options)
    : body_(std::make_unique<Body>(file, options)) {}

Reader::~Reader() = default;

std::optional<WallTime> Reader::Body::readOldest() {
  Query query(oldest, oldestKey);
  if (!query.next()) {
    return std::nullopt;
  }
  oldestKey = query.integer(0);
  return query.instant(1);
}

std::optional<MessageInfo> Reader::Body::readMessage(std::string_view messageId) {
  Query query(find, messageId);
  return query.next() ? std::optional(infoOf(query, messageId)) : std::nullopt;
}

Stats Reader::stats() const {
  const std::scoped_lock lock(body_->mutex);
  const Snapshot snapshot(body_->database.getHandle());
  body_->counters.forget();
  Stats stats = toStats(body_->counters.values());
  if (stats.pending + stats.sending + stats.sent != 0) {
    stats.oldestPendingAt = body_->readOldest();
  }
  return stats;
}

std::optional<MessageInfo> Reader::find(std::string_view messageId) const {
  const std::scoped_lock lock(body_->mutex);
  return body_->readMessage(messageId);
}

DeadLetterPage Reader::deadLetters(const DeadLetterFilter& filter, std::size_t limit, std::int64_t after) const {
  if (limit < 1 || limit > kPageLooks) {
    throw Error(Errc::invalidOption, "limit must be from 1 to 10000");
  }
  const std::scoped_lock lock(body_->mutex);
  DeadLetterPage page;
  std::size_t looked = 0;
  Query query(body_->deadLetters, after, std::numeric_limits<std::int64_t>::max(), kPageLooks, filter.peer,
              filter.session, filter.reason, failedBefore(filter, body_->options.clock->wallNow()),
              filter.retriesBelow);
  while (query.next()) {
    ++looked;
    const std::int64_t key = query.integer(kInfoColumnCount + 1);
    if (query.integer(kInfoColumnCount + 2) != 0) {
      page.messages.push_back(infoOf(query, query.view(kInfoColumnCount)));
    }
    if (page.messages.size() == limit || looked == kPageLooks) {
      page.next = key;
      break;
    }
  }
  return page;
}

std::optional<Explanation> Reader::explain(std::string_view messageId) const {
  const std::scoped_lock lock(body_->mutex);
  const Snapshot snapshot(body_->database.getHandle());
  std::optional<MessageInfo> message = body_->readMessage(messageId);
  if (!message) {
    return std::nullopt;
  }
  body_->readOldest();
  Explanation explanation;
  explanation.reasons = body_->explainer.reasons(*message, body_->oldestKey);
  explanation.message = std::move(*message);
  return explanation;
}

}  // namespace ackbox::store
