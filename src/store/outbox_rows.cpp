#include "store/outbox_rows.hpp"

namespace ackbox::store {

OutboxRows::OutboxRows(sqlite3* connection, std::string_view prefix)
    : connection_(connection),
      findSession_(connection, "SELECT id,last_sequence FROM #sessions WHERE peer_id=?1 AND name=?2", prefix),
      insertSession_(connection, "INSERT INTO #sessions(peer_id,name,last_sequence) VALUES(?1,?2,0)", prefix),
      updateSession_(connection, "UPDATE #sessions SET last_sequence=?2, live=live+?3, failed=failed+?4 WHERE id=?1",
                     prefix),
      insert_(connection,
              "INSERT INTO #outbox(session_id,sequence,state,attempt,retry_count,created_at_ms,due_at_ms,"
              "expires_at_ms,message_id,type,traceparent,correlation_id,data) "
              "VALUES(?1,?2,0,0,0,?3,0,?4,?5,?6,?7,?8,?9) ON CONFLICT(message_id) DO NOTHING",
              prefix),
      sequenceOf_(connection, "SELECT sequence FROM #outbox WHERE message_id=?1", prefix) {}

std::optional<SessionTail> OutboxRows::findSession(delivery::PeerKey peer, std::string_view name) {
  Query query(findSession_, peer, name);
  if (!query.next()) {
    return std::nullopt;
  }
  return SessionTail{query.integer(0), query.as<std::uint64_t>(1)};
}

SessionTail OutboxRows::insertSession(delivery::PeerKey peer, std::string_view name) {
  Query(insertSession_, peer, name).run();
  return {sqlite3_last_insert_rowid(connection_), 0};
}

void OutboxRows::updateSession(const SessionTail& tail, const Counters::SessionChange& change) {
  Query(updateSession_, tail.key, tail.lastSequence, change.live, change.failed).run();
}

std::optional<delivery::MessageKey> OutboxRows::insert(const Frame& frame, std::string_view messageId,
                                                       const SessionTail& place, WallTime now) {
  const std::size_t stored = Query(insert_, place.key, place.lastSequence, now, frame.expiresAt, messageId, frame.type,
                                   NullIfEmpty{frame.traceparent}, NullIfEmpty{frame.correlationId}, Blob{frame.data})
                                 .run();
  if (stored == 0) {
    return std::nullopt;
  }
  return sqlite3_last_insert_rowid(connection_);
}

std::optional<std::uint64_t> OutboxRows::sequenceOf(std::string_view messageId) {
  Query query(sequenceOf_, messageId);
  return query.next() ? std::optional(query.as<std::uint64_t>(0)) : std::nullopt;
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
                                         const OutboxOptions& options) {
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
