#include "store/postgres/read/message_pages.hpp"

#include <limits>

#include "base/error_fingerprint.hpp"
#include "store/postgres/outbound/claims.hpp"
#include "store/postgres/outbound/dead_letters.hpp"

namespace ackbox::store::postgres {
namespace {

// A claimed row is PENDING in its own table.
const std::string& stateSql() {
  static const std::string kState =
      "CASE WHEN o.state=0 AND " + std::string(kClaimant) + " IS NOT NULL THEN 1 ELSE o.state END";
  return kState;
}

constexpr int kErrorColumn = 9;
constexpr int kKeyColumn = 11;
// Behind the columns of `infoOf`.
constexpr int kNextColumn = 12;
constexpr int kStoredColumns = 8;

std::string infoColumns() {
  return std::string("p.name,s.name,o.type,o.sequence,")
      .append(stateSql())
      .append(
          ",o.retry_count,o.created_at_ms,greatest(o.due_at_ms,CASE WHEN o.state=0 THEN (SELECT m.due_at_ms FROM "
          "#session_states AS m WHERE m.session_id=s.id) ELSE 0 END),coalesce(o.reason,''),coalesce(o.last_error,''),"
          "o.message_id,o.id");
}

std::string storedColumns() {
  return infoColumns() +
         ",o.expires_at_ms,o.traceparent,o.correlation_id,o.data,o.not_before_ms,s.priority,"
         "o.supersede_key,o.resent_of";
}

constexpr std::string_view kJoined =
    " FROM #outbox AS o JOIN #sessions AS s ON s.id=o.session_id JOIN #peers AS p ON p.id=s.peer_id ";

MessageInfo infoOf(const Row& row) {
  MessageInfo info;
  info.messageId = row.text(10);
  info.peer = row.text(0);
  info.session = row.text(1);
  info.type = row.text(2);
  info.sequence = row.as<std::uint64_t>(3);
  info.state = row.as<MessageState>(4);
  info.retryCount = row.as<std::uint32_t>(5);
  info.enqueuedAt = row.instant(6);
  info.dueAt = row.instant(7);
  info.reason = row.text(8);
  info.lastError = row.text(kErrorColumn);
  info.row = row.integer(kKeyColumn);
  return info;
}

StoredMessage storedOf(const Row& row) {
  StoredMessage message;
  message.info = infoOf(row);
  Columns columns(row, kNextColumn);
  columns >> message.expiresAt >> message.traceparent >> message.correlationId >> message.data >> message.notBefore >>
      message.priority >> message.supersedeKey >> message.resentOf;
  return message;
}

// Parameters $1 and $2: the key behind which the page begins, and how many rows are looked at.
std::string messageSelect(const std::string& columns, bool isNewestFirst) {
  return "SELECT " + columns + ",($3::integer IS NULL OR " + stateSql() +
         "=$3) AND ($4::text IS NULL OR p.name=$4) AND ($5::text IS NULL OR s.name=$5) AND ($6::text IS NULL OR "
         "o.type=$6) AND ($7::bigint IS NULL OR o.created_at_ms>=$7) AND ($8::bigint IS NULL OR o.created_at_ms<$8) "
         "AND ($9::text IS NULL OR s.name=$9 OR o.type=$9 OR coalesce(strpos(o.last_error,$9),0)>0)" +
         std::string(kJoined) + "WHERE ($3::integer IS DISTINCT FROM 4 OR o.state=4) AND o.id" +
         (isNewestFirst ? "<$1::bigint ORDER BY o.id DESC" : ">$1::bigint ORDER BY o.id") + " LIMIT $2::bigint";
}

// The size at which a page of whole messages ends, so that large ones do not fill the memory.
constexpr std::size_t kPageBytes = 4U << 20U;

std::size_t dataBytes(const MessageInfo& /*message*/) {
  return 0;
}
std::size_t dataBytes(const StoredMessage& message) {
  return message.data.size();
}

template <typename Page, typename Chooses, typename Make>
Page readPage(const Result& rows, std::size_t limit, const Chooses& chooses, const Make& make) {
  Page page;
  std::size_t looked = 0;
  std::size_t bytes = 0;
  for (const Row& row : rows) {
    ++looked;
    if (chooses(row)) {
      page.messages.push_back(make(row));
      bytes += dataBytes(page.messages.back());
    }
    if (page.messages.size() == limit || looked == kPageLooks || bytes >= kPageBytes) {
      page.next = row.integer(kKeyColumn);
      break;
    }
  }
  if constexpr (requires { page.looked; }) {
    page.looked = looked;
  }
  return page;
}

template <typename Page, typename Make>
Page deadLetterPage(Connection& connection, const std::string& columns, const DeadLetterFilter& filter, WallTime now,
                    std::size_t limit, std::int64_t after, int chosenColumn, const Make& make) {
  Parameters parameters(after, std::numeric_limits<std::int64_t>::max(), kPageLooks);
  addFilter(parameters, filter, now);
  const Result rows = connection.runWith(deadLetterSelect(columns), parameters);
  const ErrorForm form(filter.errorLike);
  return readPage<Page>(
      rows, limit, [&](const Row& row) { return row.integer(chosenColumn) != 0 && form.fits(row.view(kErrorColumn)); },
      make);
}

std::vector<AttemptInfo> attemptsOf(Connection& connection, std::int64_t key) {
  std::vector<AttemptInfo> attempts;
  for (const Row& row : connection.run(
           "SELECT e->>'first_at_ms',e->>'at_ms',e->>'count',e->>'took_ms',e->>'outcome',coalesce(e->>'status','0'),"
           "e->>'error' FROM #outbox AS o, jsonb_array_elements(o.attempt_log) AS e WHERE o.id=$1",
           key)) {
    AttemptInfo& attempt = attempts.emplace_back();
    attempt.firstAt = row.instant(0);
    attempt.lastAt = row.instant(1);
    attempt.count = row.as<std::uint64_t>(2);
    if (!row.isNull(3)) {
      attempt.took = std::chrono::milliseconds(row.integer(3));
    }
    attempt.outcome = row.text(4);
    attempt.status = row.as<int>(5);
    attempt.error = row.text(6);
  }
  return attempts;
}

}  // namespace

void requirePageLimit(std::size_t limit) {
  if (limit < 1 || limit > kPageLooks) {
    throw OptionError("limit", "is " + std::to_string(limit), "1 to " + std::to_string(kPageLooks));
  }
}

std::optional<MessageInfo> MessagePages::find(std::string_view messageId) {
  static const std::string kSelect = "SELECT " + infoColumns() + std::string(kJoined) + "WHERE o.message_id=$1";
  const Result result = connection_.run(kSelect, messageId);
  if (result.empty()) {
    return std::nullopt;
  }
  MessageInfo message = infoOf(result.front());
  message.attempts = attemptsOf(connection_, message.row);
  return message;
}

std::optional<Frame> MessagePages::frame(std::string_view messageId) {
  static const std::string kSelect = "SELECT " + storedColumns() + std::string(kJoined) + "WHERE o.message_id=$1";
  const Result result = connection_.run(kSelect, messageId);
  if (result.empty()) {
    return std::nullopt;
  }
  StoredMessage message = storedOf(result.front());
  Frame frame;
  frame.peer = std::move(message.info.peer);
  frame.session = std::move(message.info.session);
  frame.type = std::move(message.info.type);
  frame.data = std::move(message.data);
  frame.id = messageId;
  frame.expiresAt = message.expiresAt;
  frame.traceparent = std::move(message.traceparent);
  frame.correlationId = std::move(message.correlationId);
  frame.notBefore = message.notBefore;
  frame.priority = static_cast<std::uint8_t>(message.priority);
  frame.supersedeKey = std::move(message.supersedeKey);
  frame.resentOf = std::move(message.resentOf);
  return frame;
}

DeadLetterPage MessagePages::deadLetters(const DeadLetterFilter& filter, std::size_t limit, std::int64_t after) {
  requirePageLimit(limit);
  return deadLetterPage<DeadLetterPage>(connection_, infoColumns(), filter, options_.clock->wallNow(), limit, after,
                                        kNextColumn, infoOf);
}

StoredPage MessagePages::storedDeadLetters(const DeadLetterFilter& filter, std::size_t limit, std::int64_t after) {
  return deadLetterPage<StoredPage>(connection_, storedColumns(), filter, options_.clock->wallNow(), limit, after,
                                    kNextColumn + kStoredColumns, storedOf);
}

std::vector<MessageInfo> MessagePages::newestDeadLetters(std::size_t limit) {
  requirePageLimit(limit);
  static const std::string kSelect =
      "SELECT " + infoColumns() + std::string(kJoined) + "WHERE o.state=4 ORDER BY o.id DESC LIMIT $1";
  std::vector<MessageInfo> messages;
  for (const Row& row : connection_.run(kSelect, limit)) {
    messages.push_back(infoOf(row));
  }
  return messages;
}

MessagePage MessagePages::messages(const MessageFilter& filter, std::size_t limit, std::int64_t after) {
  requirePageLimit(limit);
  const bool isFromEnd = filter.isNewestFirst && after == 0;
  const Result rows = connection_.run(
      messageSelect(infoColumns(), filter.isNewestFirst), isFromEnd ? std::numeric_limits<std::int64_t>::max() : after,
      kPageLooks, filter.state ? std::optional(static_cast<int>(*filter.state)) : std::nullopt, filter.peer,
      filter.session, filter.type, filter.since, filter.before, filter.text);
  return readPage<MessagePage>(
      rows, limit, [](const Row& row) { return row.integer(kNextColumn) != 0; }, infoOf);
}

StoredPage MessagePages::storedMessages(const MessageFilter& filter, std::size_t limit, std::int64_t after) {
  const Result rows =
      connection_.run(messageSelect(storedColumns(), false), after, kPageLooks,
                      filter.state ? std::optional(static_cast<int>(*filter.state)) : std::nullopt, filter.peer,
                      filter.session, filter.type, filter.since, filter.before, filter.text);
  return readPage<StoredPage>(
      rows, limit, [](const Row& row) { return row.integer(kNextColumn + kStoredColumns) != 0; }, storedOf);
}

}  // namespace ackbox::store::postgres
