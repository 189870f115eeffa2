#include "store/outbox_rows.hpp"

#include "store/claim_set.hpp"
#include "store/session_states.hpp"

namespace ackbox::store {
namespace {

// OR FAIL, because a statement of several rows that may fail in its middle copies the pages that it changes first, for
// its own undoing, a tenth of the whole. What fails here undoes the step that it is part of, or the transaction.
std::string insertText(std::size_t rows) {
  return "INSERT OR FAIL INTO #outbox(id,session_id,sequence,created_at_ms,due_at_ms,expires_at_ms,not_before_ms,"
         "message_id,id_rest,type,traceparent,correlation_id,supersede_key,data,state,attempt,retry_count) VALUES" +
         repeated("(?,?,?,?,?,?,?,?,?,?,?,?,?,?,0,0,0)", rows);
}

}  // namespace

OutboxRows::OutboxRows(sqlite3* connection, std::string_view prefix)
    : connection_(connection),
      findSession_(connection,
                   "SELECT s.id,m.last_sequence,s.priority FROM #sessions AS s LEFT JOIN #session_states AS m ON "
                   "m.session_id=s.id WHERE s.peer_id=?1 AND s.name=?2 AND s.lane=?3",
                   prefix),
      insertSession_(connection, "INSERT INTO #sessions(peer_id,name,lane,priority) VALUES(?1,?2,?3,?4)", prefix),
      insertState_(connection, kInsertState, prefix),
      updatePriority_(connection, "UPDATE #sessions SET priority=?2 WHERE id=?1", prefix),
      insert_(connection, insertText(1), prefix),
      insertMany_(connection, insertText(kTogether), prefix),
      sequenceOf_(connection, std::string("SELECT sequence FROM #outbox WHERE id=").append(keyOfMessage()), prefix),
      supersedable_(
          connection,
          std::string("SELECT o.id,o.session_id,")
              .append(kMessageId)
              .append(",o.sequence,length(o.data) FROM #sessions AS s CROSS JOIN #outbox AS o INDEXED BY "
                      "#outbox_supersedable ON o.session_id=s.id WHERE s.peer_id=?1 AND s.name=?2 AND s.lane=0 AND "
                      "o.state=0 AND o.supersede_key=?3 AND ")
              .append(kRowOwner)
              .append(" IS NULL ORDER BY o.id"),
          prefix),
      remove_(connection, "DELETE FROM #outbox WHERE id=?1", prefix) {}

std::optional<SessionTail> OutboxRows::findSession(const SessionName& session) {
  Query query(findSession_, session.peer, session.name, session.lane);
  if (!query.next()) {
    return std::nullopt;
  }
  if (query.isNull(1)) {
    throwStateMissing(query.integer(0));
  }
  return SessionTail{query.integer(0), query.as<std::uint64_t>(1), query.as<std::uint8_t>(2), session.lane != 0};
}

SessionTail OutboxRows::insertSession(const SessionName& session, std::uint8_t priority) {
  Query(insertSession_, session.peer, session.name, session.lane, priority).run();
  const delivery::SessionKey key = sqlite3_last_insert_rowid(connection_);
  Query(insertState_, key).run();
  return {key, 0, priority, session.lane != 0};
}

void OutboxRows::updatePriority(const SessionTail& tail) {
  Query(updatePriority_, tail.key, tail.priority).run();
}

void OutboxRows::insert(std::span<const NewRow> rows) {
  const auto bind = [](Query& query, const NewRow& fresh) {
    const OutboxRow& row = fresh.row;
    const OutboundFrame& frame = row.frame;
    query.add(fresh.key, row.session, frame.sequence, frame.enqueuedAt, row.dueAt, frame.expiresAt, row.notBefore,
              fresh.idRest ? std::nullopt : std::optional<std::string_view>(frame.messageId), fresh.idRest, frame.type,
              NullIfEmpty{frame.traceparent}, NullIfEmpty{frame.correlationId}, NullIfEmpty{fresh.supersedeKey},
              Blob{frame.data});
  };
  for (; rows.size() >= kTogether; rows = rows.subspan(kTogether)) {
    Query query(insertMany_);
    for (const NewRow& row : rows.first(kTogether)) {
      bind(query, row);
    }
    query.run();
  }
  for (const NewRow& row : rows) {
    Query query(insert_);
    bind(query, row);
    query.run();
  }
}

NewRow::NewRow(delivery::MessageKey newKey, const Frame& frame, const MessageId& id, const SessionTail& place,
               WallTime now)
    : key(newKey), idRest(id.rest), supersedeKey(frame.supersedeKey) {
  row.session = place.key;
  // What is over already is no delay, whatever becomes of the calendar.
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
    found.push_back({query.integer(0), query.integer(1), query.text(2), query.as<std::uint64_t>(3), query.integer(4)});
  }
  return found;
}

void OutboxRows::remove(delivery::MessageKey key) {
  Query(remove_, key).run();
}

std::optional<EnqueueReceipt> refuseFrame(const Frame& frame, bool peerKnown, const OutboxOptions& options) {
  if (!peerKnown) {
    return EnqueueReceipt{EnqueueStatus::unknownPeer, frame.id, 0,
                          "no peer is configured by the name of the frame's peer: add it to OutboxOptions::peers"};
  }
  if (frame.data.size() > options.frameBytesMax) {
    return EnqueueReceipt{EnqueueStatus::frameTooLarge, frame.id, 0,
                          "data has " + std::to_string(frame.data.size()) + " bytes, frameBytesMax is " +
                              std::to_string(options.frameBytesMax)};
  }
  return std::nullopt;
}

std::optional<EnqueueReceipt> refuseFull(const Frame& frame, std::uint64_t live, std::uint64_t liveBytes,
                                         const std::vector<Supersedable>& leaving, const OutboxOptions& options) {
  live -= leaving.size();
  for (const Supersedable& message : leaving) {
    liveBytes -= static_cast<std::uint64_t>(message.bytes);
  }
  const auto refuse = [&frame](const char* limit, std::uint64_t value) {
    return EnqueueReceipt{EnqueueStatus::queueFull, frame.id, 0,
                          std::string(limit) + " = " + std::to_string(value) + " is reached: try again later"};
  };
  if (options.maxPending != 0 && live >= options.maxPending) {
    return refuse("maxPending", options.maxPending);
  }
  if (options.maxPendingBytes != 0 && liveBytes + frame.data.size() > options.maxPendingBytes) {
    return refuse("maxPendingBytes", options.maxPendingBytes);
  }
  return std::nullopt;
}

}  // namespace ackbox::store
