#include "store/sqlite/outbound/outbox_rows.hpp"

#include <algorithm>

#include "store/sqlite/cache/claim_bits.hpp"
#include "store/sqlite/cache/session_states.hpp"
#include "store/sqlite/outbound/row_checksum.hpp"

namespace ackbox::store::sqlite {
namespace {

constexpr std::size_t kSome = 4;

// OR FAIL, because otherwise a statement of several rows first copies the pages that it changes, so that it can be
// undone, which is a tenth of its cost. The caller of a failed statement rolls back its step or the transaction.
std::string insertText(std::string_view columns, std::string_view values, std::size_t rows) {
  return std::string("INSERT OR FAIL INTO #outbox(")
      .append(columns)
      .append(",state,attempt,retry_count) VALUES")
      .append(repeated(std::string("(").append(values).append(",0,0,0)"), rows));
}

// Whether the row is like most: with a generated id, due at once, and without optional fields. Each column that is not
// named saves 200 instructions.
bool isPlain(const NewRow& fresh) {
  const OutboundFrame& frame = fresh.row.frame;
  return fresh.idRest && fresh.row.dueAt == WallTime{} && !frame.expiresAt && frame.traceparent.empty() &&
         frame.correlationId.empty() && frame.resentOf.empty() && fresh.supersedeKey.empty();
}

}  // namespace

OutboxRows::OutboxRows(sqlite3* connection, std::string_view prefix)
    : connection_(connection),
      findSession_(connection,
                   "SELECT s.id,m.last_sequence,s.priority,typeof(m.last_sequence)='integer' FROM #sessions AS s LEFT "
                   "JOIN #session_states AS m ON "
                   "m.session_id=s.id WHERE s.peer_id=?1 AND s.name=?2 AND s.lane=?3",
                   prefix),
      insertSession_(connection, "INSERT INTO #sessions(peer_id,name,lane,priority) VALUES(?1,?2,?3,?4)", prefix),
      insertState_(connection, kInsertState, prefix),
      updatePriority_(connection, "UPDATE #sessions SET priority=?2 WHERE id=?1", prefix),
      plain_(connection, "id,session_id,sequence,created_at_ms,id_rest,checksum,type,data,due_at_ms",
             "?,?,?,?,?,?,?,?,0", prefix),
      full_(
          connection,
          "id,session_id,sequence,created_at_ms,due_at_ms,expires_at_ms,not_before_ms,message_id,id_rest,checksum,type,"
          "traceparent,correlation_id,resent_of,supersede_key,data",
          "?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?", prefix),
      sequenceOf_(connection, std::string("SELECT sequence FROM #outbox WHERE id=").append(keyOfMessage()), prefix),
      supersedable_(
          connection,
          std::string("SELECT o.id,o.session_id,")
              .append(kMessageId)
              .append(",o.sequence,length(o.data),o.attempt>0 FROM #sessions AS s CROSS JOIN #outbox AS o INDEXED BY "
                      "#outbox_supersedable ON o.session_id=s.id WHERE s.peer_id=?1 AND s.name=?2 AND s.lane=0 AND "
                      "o.state=0 AND o.supersede_key=?3 AND ")
              .append(kRowOwner)
              .append(" IS NULL ORDER BY o.id"),
          prefix),
      remove_(connection, "DELETE FROM #outbox WHERE id=?1", prefix),
      vacated_(connection, prefix) {}

std::optional<SessionTail> OutboxRows::findSession(const SessionName& session) {
  Query query(findSession_, session.peer, session.name, session.unorderedQueue);
  if (!query.next()) {
    return std::nullopt;
  }
  if (query.isNull(1)) {
    throwStateMissing(query.integer(0));
  }
  if (query.integer(3) == 0) {
    // SQLite would return 0, and numbers would be used twice.
    throw Error(Errc::databaseCorrupt,
                "the last number of session " + std::to_string(query.integer(0)) +
                    " is out of range: other SQL has changed it; ackbox repair FILE corrects it");
  }
  return SessionTail{query.integer(0), query.as<std::uint64_t>(1), query.as<std::uint8_t>(2),
                     session.unorderedQueue != 0};
}

SessionTail OutboxRows::insertSession(const SessionName& session, std::uint8_t priority) {
  Query(insertSession_, session.peer, session.name, session.unorderedQueue, priority).run();
  const delivery::SessionKey key = sqlite3_last_insert_rowid(connection_);
  Query(insertState_, key).run();
  return {key, 0, priority, session.unorderedQueue != 0};
}

void OutboxRows::updatePriority(const SessionTail& tail) {
  Query(updatePriority_, tail.key, tail.priority).run();
}

OutboxRows::Inserts::Inserts(sqlite3* connection, std::string_view columns, std::string_view values,
                             std::string_view prefix)
    : connection_(connection), columns_(columns), values_(values), prefix_(prefix) {}

Statement& OutboxRows::Inserts::storing(std::size_t rows) {
  const auto known = statements_.find(rows);
  return known != statements_.end()
             ? known->second
             : statements_.try_emplace(rows, connection_, insertText(columns_, values_, rows), prefix_).first->second;
}

template <typename Bind>
void OutboxRows::Inserts::run(std::span<const NewRow> rows, const Bind& bind) {
  while (!rows.empty()) {
    const std::size_t size = rows.size() >= kTogether ? kTogether : rows.size() >= kSome ? kSome : 1;
    Query query(storing(size));
    for (const NewRow& row : rows.first(size)) {
      bind(query, row);
    }
    query.run();
    rows = rows.subspan(size);
  }
}

void OutboxRows::insert(std::span<const NewRow> rows) {
  if (std::ranges::all_of(rows, isPlain)) {
    plain_.run(rows, [](Query& query, const NewRow& fresh) {
      const OutboundFrame& frame = fresh.row.frame;
      query.add(fresh.key, fresh.row.session, frame.sequence, frame.enqueuedAt, fresh.idRest,
                checksumOf(fresh.key, fresh.row), frame.type, Blob{frame.data});
    });
    return;
  }
  full_.run(rows, [](Query& query, const NewRow& fresh) {
    const OutboxRow& row = fresh.row;
    const OutboundFrame& frame = row.frame;
    query.add(fresh.key, row.session, frame.sequence, frame.enqueuedAt, row.dueAt, frame.expiresAt, row.notBefore,
              fresh.idRest ? std::nullopt : std::optional<std::string_view>(frame.messageId), fresh.idRest,
              checksumOf(fresh.key, row), frame.type, NullIfEmpty{frame.traceparent}, NullIfEmpty{frame.correlationId},
              NullIfEmpty{frame.resentOf}, NullIfEmpty{fresh.supersedeKey}, Blob{frame.data});
  });
}

NewRow::NewRow(delivery::MessageKey newKey, const Frame& frame, const MessageId& id, const SessionTail& place,
               WallTime now)
    : key(newKey), idRest(id.rest), supersedeKey(frame.supersedeKey) {
  row.session = place.key;
  // An instant in the past is no delay, even if the clock is set back later.
  row.notBefore = frame.notBefore && *frame.notBefore > now ? frame.notBefore : std::nullopt;
  row.dueAt = row.notBefore.value_or(WallTime{});
  row.frame.messageId = id.text;
  row.frame.type = frame.type;
  row.frame.data = frame.data;
  row.frame.sequence = place.lastSequence;
  row.frame.enqueuedAt = now;
  row.frame.expiresAt = frame.expiresAt;
  row.frame.traceparent = frame.traceparent;
  row.frame.correlationId = frame.correlationId;
  row.frame.resentOf = frame.resentOf;
}

std::optional<EnqueueReceipt> OutboxRows::repetitionOf(const Frame& frame) {
  if (frame.id.empty()) {
    return std::nullopt;
  }
  Query query(sequenceOf_, frame.id);
  return query.next()
             ? std::optional(EnqueueReceipt{EnqueueStatus::duplicate, frame.id, query.as<std::uint64_t>(0), {}})
             : std::nullopt;
}

std::vector<Supersedable> OutboxRows::supersedable(delivery::PeerKey peer, const Frame& frame) {
  std::vector<Supersedable> found;
  if (frame.supersedeKey.empty()) {
    return found;
  }
  Query query(supersedable_, peer, frame.session, frame.supersedeKey);
  while (query.next()) {
    found.push_back({query.integer(0), query.integer(1), query.text(2), query.as<std::uint64_t>(3), query.integer(4),
                     query.integer(5) != 0});
  }
  return found;
}

void OutboxRows::supersede(const Supersedable& message) {
  if (message.wasTried) {
    vacate(message.key);
  }
  remove(message.key);
}

void OutboxRows::vacate(delivery::MessageKey key) {
  vacated_.keep(key, VacatedNumbers::Unless::untried);
}

void OutboxRows::remove(delivery::MessageKey key) {
  Query(remove_, key).run();
}

std::optional<EnqueueReceipt> refuseFull(const Frame& frame, Fill fill, const std::vector<Supersedable>& replaced,
                                         const OutboxOptions& options) {
  fill.rows -= std::min<std::uint64_t>(fill.rows, replaced.size());
  for (const Supersedable& message : replaced) {
    fill.bytes -= std::min(fill.bytes, static_cast<std::uint64_t>(message.bytes));
  }
  return refuseFull(frame, fill, options);
}

}  // namespace ackbox::store::sqlite
