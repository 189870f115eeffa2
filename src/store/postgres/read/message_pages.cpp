#include "store/postgres/read/message_pages.hpp"

#include <algorithm>
#include <limits>
#include <utility>

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

// A page looks at many rows to find few: they come in parts, so that no more are read than a few behind its end.
constexpr std::size_t kRowsAtOnce = 500;

/// Whether the size of the messages' data ends a page, too.
enum class Ends : std::uint8_t { byCount, byBytes };

constexpr int kBytesColumn = 12;
constexpr int kFitsColumn = 13;

std::string pageColumns() {
  return infoColumns() + ",octet_length(o.data)";
}

/// A page of messages that fit, without their data.
struct FoundPage {
  std::vector<MessageInfo> messages;
  std::int64_t next = 0;
  std::size_t looked = 0;
};

// `read(after, limit)` gives the next rows, of `pageColumns` and whether the row fits.
template <typename Read>
FoundPage findPage(std::size_t limit, std::int64_t after, Ends ends, const ErrorForm& form, const Read& read) {
  FoundPage page;
  for (std::size_t bytes = 0;;) {
    const std::size_t wanted = std::min(kRowsAtOnce, kPageLooks - page.looked);
    const Result rows = read(after, wanted);
    for (const Row& row : rows) {
      ++page.looked;
      after = row.integer(kKeyColumn);
      if (row.integer(kFitsColumn) != 0 && form.fits(row.view(kErrorColumn))) {
        page.messages.push_back(infoOf(row));
        bytes += ends == Ends::byBytes ? row.as<std::size_t>(kBytesColumn) : 0;
      }
      if (page.messages.size() == limit || page.looked == kPageLooks || bytes >= kPageBytes) {
        page.next = after;
        return page;
      }
    }
    if (rows.size() < wanted) {
      return page;
    }
  }
}

StoredPage withData(Connection& connection, const FoundPage& found) {
  static const std::string kSelect =
      "SELECT " + storedColumns() + std::string(kJoined) + "WHERE o.id=ANY($1::bigint[]) ORDER BY o.id";
  StoredPage page;
  page.next = found.next;
  std::vector<std::int64_t> keys;
  for (const MessageInfo& message : found.messages) {
    keys.push_back(message.row);
  }
  for (const Row& row : connection.run(kSelect, arrayOf(keys))) {
    page.messages.push_back(storedOf(row));
  }
  return page;
}

FoundPage findDeadLetters(Connection& connection, const DeadLetterFilter& filter, WallTime now, std::size_t limit,
                          std::int64_t from, Ends ends) {
  static const std::string kSelect = deadLetterSelect(pageColumns());
  return findPage(limit, from, ends, ErrorForm(filter.errorLike), [&](std::int64_t after, std::size_t wanted) {
    Parameters parameters(after, std::numeric_limits<std::int64_t>::max(), wanted);
    addFilter(parameters, filter, now);
    return connection.runWith(kSelect, parameters);
  });
}

FoundPage findMessages(Connection& connection, const MessageFilter& filter, std::size_t limit, std::int64_t from,
                       Ends ends) {
  const std::string select = messageSelect(pageColumns(), filter.isNewestFirst);
  if (filter.isNewestFirst && from == 0) {
    from = std::numeric_limits<std::int64_t>::max();
  }
  return findPage(limit, from, ends, ErrorForm(std::nullopt), [&](std::int64_t after, std::size_t wanted) {
    return connection.run(select, after, wanted,
                          filter.state ? std::optional(static_cast<int>(*filter.state)) : std::nullopt, filter.peer,
                          filter.session, filter.type, filter.since, filter.before, filter.text);
  });
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
  FoundPage found = findDeadLetters(connection_, filter, options_.clock->wallNow(), limit, after, Ends::byCount);
  DeadLetterPage page;
  page.messages = std::move(found.messages);
  page.next = found.next;
  page.looked = found.looked;
  return page;
}

StoredPage MessagePages::storedDeadLetters(const DeadLetterFilter& filter, std::size_t limit, std::int64_t after) {
  return withData(connection_,
                  findDeadLetters(connection_, filter, options_.clock->wallNow(), limit, after, Ends::byBytes));
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
  FoundPage found = findMessages(connection_, filter, limit, after, Ends::byCount);
  MessagePage page;
  page.messages = std::move(found.messages);
  page.next = found.next;
  return page;
}

StoredPage MessagePages::storedMessages(const MessageFilter& filter, std::size_t limit, std::int64_t after) {
  MessageFilter inOrder = filter;
  inOrder.isNewestFirst = false;
  return withData(connection_, findMessages(connection_, inOrder, limit, after, Ends::byBytes));
}

}  // namespace ackbox::store::postgres
