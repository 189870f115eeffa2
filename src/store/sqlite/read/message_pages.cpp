#include "store/sqlite/read/message_pages.hpp"

#include <limits>

#include "base/error_fingerprint.hpp"
#include "store/sqlite/cache/claim_bits.hpp"
#include "store/sqlite/outbound/dead_letters.hpp"
#include "store/sqlite/outbound/message_ids.hpp"
#include "store/sqlite/outbound/row_checksum.hpp"

namespace ackbox::store::sqlite {
namespace {

constexpr int kErrorColumn = 9;
constexpr int kIdColumn = 10;
// The columns after those of `infoOf`: those that an export adds, and last, whether the filter chooses the row.
constexpr int kKeyColumn = 11;
constexpr int kListedChosenColumn = 12;
constexpr int kExpiresColumn = 12;
constexpr int kDamagedColumn = 20;
constexpr int kStoredChosenColumn = 21;

std::string stored() {
  return infoColumns()
      .append(
          ",o.expires_at_ms,o.traceparent,o.correlation_id,o.data,o.not_before_ms,s.priority,o.supersede_key,o.resent_"
          "of,")
      .append(kSessionDiffers);
}

enum class Order : std::uint8_t { oldestFirst, newestFirst };

// `rows` gives `o`. The order of the joins keeps the planner from walking sessions first. Parameter 1: the key behind
// which the page begins.
std::string messageSelect(const std::string& columns, std::string_view rows) {
  return std::string("SELECT ")
      .append(columns)
      .append(",(?3 IS NULL OR ")
      .append(kRowState)
      .append(
          "=?3) AND (?4 IS NULL OR p.name=?4) AND (?5 IS NULL OR s.name=?5) AND (?6 IS NULL OR o.type=?6) AND (?7 IS "
          "NULL OR o.created_at_ms>=?7) "
          "AND (?8 IS NULL OR o.created_at_ms<?8) AND (?9 IS NULL OR s.name=?9 OR o.type=?9 OR "
          "instr(o.last_error,?9)>0) FROM ")
      .append(rows)
      .append(
          " CROSS JOIN #sessions AS s ON s.id=o.session_id CROSS JOIN #peers AS p ON p.id=s.peer_id WHERE o.id>?1 "
          "ORDER "
          "BY o.id LIMIT ?2");
}

constexpr std::string_view kSessionName = "(SELECT name FROM #sessions WHERE id=o.session_id)";

// The key of each row, and whether the filter chooses it, by the parameters of `messageSelect`. What else is shown is
// read of the chosen rows alone. A CASE tests no further than it must.
std::string chosenSelect(std::string_view rows, std::string_view where, Order order) {
  const bool isNewestFirst = order == Order::newestFirst;
  return std::string("SELECT o.id,CASE WHEN (?3 IS NULL OR ")
      .append(kRowState)
      .append(
          "=?3) AND (?6 IS NULL OR o.type=?6) AND (?7 IS NULL OR o.created_at_ms>=?7) AND (?8 IS NULL OR "
          "o.created_at_ms<?8) AND (?4 IS NULL OR (SELECT peer_id FROM #sessions WHERE id=o.session_id)=(SELECT id "
          "FROM "
          "#peers WHERE name=?4)) AND (?5 IS NULL OR ")
      .append(kSessionName)
      .append("=?5) AND (?9 IS NULL OR o.type=?9 OR instr(o.last_error,?9)>0 OR ")
      .append(kSessionName)
      .append("=?9) THEN 1 ELSE 0 END FROM ")
      .append(rows)
      .append(" WHERE o.id")
      .append(isNewestFirst ? "<?1" : ">?1")
      .append(where)
      .append(isNewestFirst ? " ORDER BY o.id DESC LIMIT ?2" : " ORDER BY o.id LIMIT ?2");
}

constexpr std::string_view kAllRows = "#outbox AS o NOT INDEXED";
constexpr std::string_view kFailedRows = "#outbox AS o INDEXED BY #outbox_failed";
constexpr std::string_view kAndFailed = " AND o.state=4";

StoredMessage columnsOf(const Query& query) {
  StoredMessage message;
  message.info = infoOf(query);
  message.expiresAt = query.optionalInstant(kExpiresColumn);
  message.traceparent = query.text(kExpiresColumn + 1);
  message.correlationId = query.text(kExpiresColumn + 2);
  message.data = query.text(kExpiresColumn + 3);
  message.notBefore = query.optionalInstant(kExpiresColumn + 4);
  message.priority = query.as<std::uint64_t>(kExpiresColumn + 5);
  message.supersedeKey = query.text(kExpiresColumn + 6);
  message.resentOf = query.text(kExpiresColumn + 7);
  return message;
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
Page readPage(Query& query, std::size_t limit, const Chooses& chooses, const Make& make) {
  Page page;
  std::size_t looked = 0;
  std::size_t bytes = 0;
  while (query.next()) {
    ++looked;
    if (chooses(query)) {
      page.messages.push_back(make(query));
      bytes += dataBytes(page.messages.back());
    }
    if (page.messages.size() == limit || looked == kPageLooks || bytes >= kPageBytes) {
      page.next = query.integer(kKeyColumn);
      break;
    }
  }
  if constexpr (requires { page.looked; }) {
    page.looked = looked;
  }
  return page;
}

bool isListed(const Query& query) {
  return query.integer(kListedChosenColumn) != 0;
}

bool isStored(const Query& query) {
  return query.integer(kStoredChosenColumn) != 0;
}

}  // namespace

void requirePageLimit(std::size_t limit) {
  if (limit < 1 || limit > kPageLooks) {
    throw OptionError("limit", "is " + std::to_string(limit), "1 to " + std::to_string(kPageLooks));
  }
}

std::string infoColumns() {
  return std::string("p.name,s.name,o.type,o.sequence,")
      .append(kRowState)
      .append(
          ",o.retry_count,o.created_at_ms,max(o.due_at_ms,(o.state=0)*(SELECT due_at_ms FROM #session_states WHERE "
          "session_id=s.id)),o.reason,o.last_error,")
      .append(kMessageId)
      .append(",o.id");
}

MessageInfo infoOf(const Query& query) {
  MessageInfo info;
  info.messageId = query.text(kIdColumn);
  info.peer = query.text(0);
  info.session = query.text(1);
  info.type = query.text(2);
  info.sequence = query.as<std::uint64_t>(3);
  info.state = query.as<MessageState>(4);
  info.retryCount = query.as<std::uint32_t>(5);
  info.enqueuedAt = query.instant(6);
  info.dueAt = query.instant(7);
  info.reason = query.text(8);
  info.lastError = query.text(kErrorColumn);
  info.row = query.integer(kKeyColumn);
  return info;
}

MessagePages::MessagePages(sqlite3* connection, const OutboxOptions& options)
    : options_(options),
      deadLetters_(connection, deadLetterSelect(infoColumns()), options.tablePrefix),
      newestDeadLetters_(connection,
                         "SELECT " + infoColumns() +
                             " FROM #outbox AS o INDEXED BY #outbox_failed CROSS JOIN #sessions AS s ON "
                             "s.id=o.session_id CROSS JOIN #peers AS p ON p.id=s.peer_id WHERE o.state=4 ORDER BY o.id "
                             "DESC LIMIT ?1",
                         options.tablePrefix),
      storedDeadLetters_(connection, deadLetterSelect(stored()), options.tablePrefix),
      messages_(connection, chosenSelect(kAllRows, {}, Order::oldestFirst), options.tablePrefix),
      failedMessages_(connection, chosenSelect(kFailedRows, kAndFailed, Order::oldestFirst), options.tablePrefix),
      sendingMessages_(connection, chosenSelect(kClaimedRows, {}, Order::oldestFirst), options.tablePrefix),
      newestMessages_(connection, chosenSelect(kAllRows, {}, Order::newestFirst), options.tablePrefix),
      newestFailedMessages_(connection, chosenSelect(kFailedRows, kAndFailed, Order::newestFirst), options.tablePrefix),
      newestSendingMessages_(connection, chosenSelect(kClaimedRows, {}, Order::newestFirst), options.tablePrefix),
      info_(connection,
            "SELECT " + infoColumns() +
                " FROM #outbox AS o JOIN #sessions AS s ON s.id=o.session_id JOIN #peers AS p ON p.id=s.peer_id WHERE "
                "o.id=?1",
            options.tablePrefix),
      storedMessages_(connection, messageSelect(stored(), kAllRows), options.tablePrefix),
      idsOfKey_(connection,
                "SELECT message_id FROM (SELECT message_id,position FROM #publications WHERE key=?1 UNION ALL SELECT "
                "message_id,0 FROM #idempotency_keys WHERE key=?1 AND peer_id<>0) ORDER BY position LIMIT ?2",
                options.tablePrefix),
      row_(connection, std::string("SELECT ").append(kRowColumns).append(" FROM #outbox WHERE id=?1"),
           options.tablePrefix) {}

StoredMessage MessagePages::storedOf(const Query& query) {
  StoredMessage message = columnsOf(query);
  message.isDamaged = query.integer(kDamagedColumn) != 0;
  if (Query row(row_, message.info.row); row.next()) {
    Columns columns(row);
    message.isDamaged = readRow(message.info.row, columns).isDamaged || message.isDamaged;
  }
  return message;
}

Query MessagePages::query(Statement& statement, const DeadLetterFilter& filter, std::int64_t after) {
  return Query(statement, after, std::numeric_limits<std::int64_t>::max(), kPageLooks, filter.peer, filter.session,
               filter.reason, failedBefore(filter, options_.clock->wallNow()), filter.retriesBelow, filter.error,
               filter.type);
}

DeadLetterPage MessagePages::deadLetters(const DeadLetterFilter& filter, std::size_t limit, std::int64_t after) {
  requirePageLimit(limit);
  Query found = query(deadLetters_, filter, after);
  const auto chooses = [form = ErrorForm(filter.errorLike)](const Query& row) {
    return isListed(row) && form.fits(row.view(kErrorColumn));
  };
  return readPage<DeadLetterPage>(found, limit, chooses, infoOf);
}

std::vector<MessageInfo> MessagePages::newestDeadLetters(std::size_t limit) {
  requirePageLimit(limit);
  std::vector<MessageInfo> messages;
  for (Query found(newestDeadLetters_, limit); found.next();) {
    messages.push_back(infoOf(found));
  }
  return messages;
}

StoredPage MessagePages::storedDeadLetters(const DeadLetterFilter& filter, std::size_t limit, std::int64_t after) {
  Query found = query(storedDeadLetters_, filter, after);
  const auto chooses = [form = ErrorForm(filter.errorLike)](const Query& row) {
    return isStored(row) && form.fits(row.view(kErrorColumn));
  };
  return readPage<StoredPage>(found, limit, chooses, [this](const Query& row) { return storedOf(row); });
}

std::vector<std::string> MessagePages::idsOfKey(std::string_view key, std::size_t limit) {
  std::vector<std::string> ids;
  for (Query found(idsOfKey_, key, limit); found.next();) {
    ids.push_back(found.text(0));
  }
  return ids;
}

MessagePage MessagePages::messages(const MessageFilter& filter, std::size_t limit, std::int64_t after) {
  requirePageLimit(limit);
  const bool isFromEnd = filter.isNewestFirst && after == 0;
  Query found(listingOf(filter), isFromEnd ? std::numeric_limits<std::int64_t>::max() : after, kPageLooks, filter.state,
              filter.peer, filter.session, filter.type, filter.since, filter.before, filter.text);
  MessagePage page;
  std::size_t looked = 0;
  while (found.next()) {
    ++looked;
    if (found.integer(1) != 0) {
      if (Query row(info_, found.integer(0)); row.next()) {
        page.messages.push_back(infoOf(row));
      }
    }
    if (page.messages.size() == limit || looked == kPageLooks) {
      page.next = found.integer(0);
      break;
    }
  }
  return page;
}

Statement& MessagePages::listingOf(const MessageFilter& filter) {
  if (filter.state == MessageState::failed) {
    return filter.isNewestFirst ? newestFailedMessages_ : failedMessages_;
  }
  if (filter.state == MessageState::sending) {
    return filter.isNewestFirst ? newestSendingMessages_ : sendingMessages_;
  }
  return filter.isNewestFirst ? newestMessages_ : messages_;
}

StoredPage MessagePages::storedMessages(const MessageFilter& filter, std::size_t limit, std::int64_t after) {
  Query found(storedMessages_, after, kPageLooks, filter.state, filter.peer, filter.session, filter.type, filter.since,
              filter.before, filter.text);
  return readPage<StoredPage>(found, limit, isStored, [this](const Query& row) { return storedOf(row); });
}

}  // namespace ackbox::store::sqlite
