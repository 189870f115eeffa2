#include "store/sqlite/read/inbox_reader.hpp"

#include <utility>

#include "ackbox/sender.hpp"

#include "store/sqlite/cache/lazy_session_rows.hpp"
#include "store/sqlite/peers/liveness.hpp"
#include "store/sqlite/read/message_pages.hpp"

namespace ackbox::store::sqlite {
namespace {

// The session of ACK events, which is their type; `protocol` has it, and knows no store.
constexpr std::string_view kAckEventSession = "ackbox.ack.v1";

// Behind the columns of `frameInfoOf`.
constexpr int kOwnerColumn = 15;
constexpr int kFilterColumn = 15;

// `?1` is the present instant.
constexpr std::string_view kInfoColumns =
    "id,frame_id,source,origin,session,sequence,type,CASE WHEN owner_id<>0 THEN 1 WHEN due_at_ms>?1 THEN 2 ELSE 0 END,"
    "retry_count,starts,accepted_at_ms,started_at_ms,due_at_ms,failed_at_ms,last_error";

InboxInfo frameInfoOf(const Query& query) {
  InboxInfo info;
  info.row = query.integer(0);
  info.messageId = query.text(1);
  info.source = query.text(2);
  info.origin = query.text(3);
  info.session = query.text(4);
  info.sequence = query.as<std::uint64_t>(5);
  info.type = query.text(6);
  info.state = query.as<InboxState>(7);
  info.retryCount = query.as<std::uint32_t>(8);
  info.startCount = query.as<std::uint32_t>(9);
  info.acceptedAt = query.instant(10);
  info.startedAt = query.instant(11);
  info.dueAt = query.instant(12);
  info.failedAt = query.optionalInstant(13);
  info.lastError = query.text(14);
  return info;
}

std::string withInfo(std::string_view rest) {
  return std::string("SELECT ").append(kInfoColumns).append(rest);
}

}  // namespace

InboxReader::InboxReader(sqlite3* connection, const OutboxOptions& options)
    : options_(options),
      sidecar_(ownersFile(connection, options.tablePrefix)),
      page_(connection,
            withInfo(",(?4 IS NULL OR ?4=CASE WHEN owner_id<>0 THEN 1 WHEN due_at_ms>?1 THEN 2 ELSE 0 END) AND (?5 IS "
                     "NULL OR source=?5) AND (?6 IS NULL OR session=?6),length(CAST(data AS BLOB)) FROM #inbox NOT "
                     "INDEXED WHERE id>?2 ORDER BY id LIMIT ?3"),
            options.tablePrefix),
      find_(connection,
            withInfo(",owner_id,length(CAST(data AS BLOB)) FROM #inbox WHERE source=?2 AND frame_id=?3 ORDER BY id "
                     "LIMIT 1"),
            options.tablePrefix),
      findResult_(
          connection,
          "SELECT origin,session,iif(origin='',0,sequence),outcome,code,detail,keep_until_ms FROM #inbox_results WHERE "
          "frame_id=?2 AND source=?1 ORDER BY keep_until_ms DESC LIMIT 1",
          options.tablePrefix),
      frame_(connection,
             "SELECT frame_id,source,type,data,time_ms,expires_at_ms,audience,session,origin,epoch,sequence,"
             "previous_sequence,traceparent,correlation_id,data_content_type FROM #inbox WHERE source=?1 AND "
             "frame_id=?2 ORDER BY id LIMIT 1",
             options.tablePrefix),
      sources_(connection,
               "SELECT source FROM #inbox WHERE frame_id=?1 UNION SELECT source FROM #inbox_results WHERE frame_id=?1 "
               "ORDER BY source",
               options.tablePrefix),
      before_(connection,
              "SELECT sequence,retry_count,last_error,owner_id,due_at_ms,started_at_ms FROM #inbox WHERE source=?1 AND "
              "origin=?2 AND session=?3 AND sequence>0 AND sequence<?4 ORDER BY sequence LIMIT 1",
              options.tablePrefix),
      owner_(connection, "SELECT pid FROM #owners WHERE id=?1", options.tablePrefix),
      handlers_(connection, "SELECT id FROM #owners WHERE deferred_handlers>0 ORDER BY id", options.tablePrefix),
      peer_(connection, "SELECT id,name FROM #peers WHERE agent=?1 AND agent<>'' ORDER BY id LIMIT 1",
            options.tablePrefix),
      ackEvents_(connection,
                 std::string("SELECT ")
                     .append(kSessionLive)
                     .append(" FROM #sessions AS s JOIN #session_states AS m ON m.session_id=s.id LEFT JOIN ")
                     .append(kUnwrittenTails)
                     .append(" AS t ON t.session_id=s.id WHERE s.peer_id=?1 AND s.name=?2 AND s.lane=0"),
                 options.tablePrefix) {}

InboxPage InboxReader::page(const InboxFilter& filter, std::size_t limit, std::int64_t after) {
  requirePageLimit(limit);
  InboxPage page;
  std::size_t looked = 0;
  Query query(page_, options_.clock->wallNow(), after, kPageLooks, filter.state, filter.source, filter.session);
  while (query.next()) {
    ++looked;
    if (query.integer(kFilterColumn) != 0) {
      page.frames.push_back(frameInfoOf(query));
      page.frames.back().bytes = query.as<std::uint64_t>(kFilterColumn + 1);
    }
    if (page.frames.size() == limit || looked == kPageLooks) {
      page.next = query.integer(0);
      break;
    }
  }
  return page;
}

std::optional<InboxInfo> InboxReader::find(std::string_view source, std::string_view messageId) {
  if (Query query(find_, options_.clock->wallNow(), source, messageId); query.next()) {
    InboxInfo info = frameInfoOf(query);
    info.bytes = query.as<std::uint64_t>(kOwnerColumn + 1);
    return info;
  }
  Query query(findResult_, source, messageId);
  if (!query.next()) {
    return std::nullopt;
  }
  InboxInfo info;
  info.messageId = messageId;
  info.source = source;
  info.origin = query.text(0);
  info.session = query.text(1);
  info.sequence = query.as<std::uint64_t>(2);
  info.state = InboxState::ended;
  if (query.as<Outcome>(3) != Outcome::ack) {
    // As the sender says it where a refusal has no code.
    info.reason = query.isNull(4) ? "rejected" : query.text(4);
  }
  info.lastError = query.text(5);
  info.keptUntil = query.instant(6);
  return info;
}

std::optional<InboundFrame> InboxReader::frame(std::string_view source, std::string_view messageId) {
  Query query(frame_, source, messageId);
  if (!query.next()) {
    return std::nullopt;
  }
  InboundFrame frame;
  Columns columns(query);
  columns >> frame.id >> frame.source >> frame.type >> frame.data >> frame.time >> frame.expiresAt >> frame.audience >>
      frame.session >> frame.origin >> frame.epoch >> frame.sequence >> frame.previousSequence >> frame.traceparent >>
      frame.correlationId >> frame.dataContentType;
  return frame;
}

std::vector<std::string> InboxReader::sources(std::string_view messageId) {
  std::vector<std::string> found;
  for (Query query(sources_, messageId); query.next();) {
    found.push_back(query.text(0));
  }
  return found;
}

std::optional<InboxExplanation> InboxReader::explain(std::string_view source, std::string_view messageId) {
  std::optional<InboxInfo> frame = find(source, messageId);
  if (!frame) {
    return std::nullopt;
  }
  InboxExplanation explanation;
  switch (frame->state) {
    case InboxState::ended:
      explainEnded(*frame, explanation.reasons);
      break;
    case InboxState::running: {
      Query query(find_, options_.clock->wallNow(), source, messageId);
      query.next();
      explanation.reasons.push_back(runReason(*frame, query.integer(kOwnerColumn)));
      break;
    }
    case InboxState::waiting:
    case InboxState::backoff:
      explainWaiting(*frame, explanation.reasons);
      break;
  }
  explanation.frame = *std::move(frame);
  return explanation;
}

Reason InboxReader::runReason(const InboxInfo& frame, std::int64_t owner) {
  Query query(owner_, owner);
  const bool registered = query.next();
  return {.hindrance = registered && ownerLives(sidecar_, owner) ? BlockReason::running : BlockReason::ownerDead,
          .since = frame.startedAt,
          .processId = registered ? query.integer(0) : 0,
          .detail = {}};
}

void InboxReader::explainWaiting(const InboxInfo& frame, std::vector<Reason>& reasons) {
  if (frame.sequence != 0) {
    Query query(before_, frame.source, frame.origin, frame.session, frame.sequence);
    if (query.next()) {
      reasons.push_back({.hindrance = BlockReason::behind,
                         .sequence = query.as<std::uint64_t>(0),
                         .retryCount = query.as<std::uint32_t>(1),
                         .detail = query.text(2)});
      // What holds that one back holds this one back as well.
      InboxInfo first;
      first.startedAt = query.instant(5);
      if (query.integer(3) != 0) {
        reasons.push_back(runReason(first, query.integer(3)));
      } else if (query.instant(4) > options_.clock->wallNow()) {
        reasons.push_back({.hindrance = BlockReason::backoff, .until = query.instant(4), .detail = {}});
      }
    }
  }
  if (frame.state == InboxState::backoff) {
    reasons.push_back({.hindrance = BlockReason::backoff, .until = frame.dueAt, .detail = frame.lastError});
  }
  if (!hasHandler()) {
    reasons.push_back({.hindrance = BlockReason::noDeferredHandler, .detail = {}});
  }
}

void InboxReader::explainEnded(const InboxInfo& frame, std::vector<Reason>& reasons) {
  if (frame.reason.empty()) {
    reasons.push_back({.hindrance = BlockReason::handled, .until = frame.keptUntil, .detail = {}});
  } else {
    reasons.push_back({.hindrance = BlockReason::refused,
                       .until = frame.keptUntil,
                       .detail = frame.reason + (frame.lastError.empty() ? "" : ": " + frame.lastError)});
  }
  Query peer(peer_, frame.source);
  if (!peer.next()) {
    reasons.push_back({.hindrance = BlockReason::senderIsNoPeer, .detail = {}});
    return;
  }
  Query query(ackEvents_, peer.integer(0), kAckEventSession);
  if (query.next() && query.integer(0) > 0) {
    reasons.push_back(
        {.hindrance = BlockReason::ackEventsWait, .sequence = query.as<std::uint64_t>(0), .detail = peer.text(1)});
  }
}

bool InboxReader::hasHandler() {
  for (Query query(handlers_); query.next();) {
    if (ownerLives(sidecar_, query.integer(0))) {
      return true;
    }
  }
  return false;
}

}  // namespace ackbox::store::sqlite
