#include "store/postgres/inbound/inbox_results.hpp"

#include <string>

#include "store/decisions/error_text.hpp"
#include "store/decisions/marking.hpp"
#include "store/kept_session.hpp"

namespace ackbox::store::postgres {

std::optional<FrameResult> InboxResults::find(const InboundIdentity& frame) {
  const Result found = context_.connection.run(
      "SELECT outcome,coalesce(code,''),coalesce(detail,''),coalesce(result,'') FROM #inbox_results WHERE frame_id=$1 "
      "AND source=$2 AND origin=$3 AND session=$4 AND sequence BETWEEN $5 AND $6",
      frame.id, frame.source, frame.origin, frame.session, frame.sequence, lastNumberOf(frame));
  if (found.empty()) {
    return std::nullopt;
  }
  FrameResult result;
  Columns columns(found.front());
  columns >> result.outcome >> result.code >> result.detail >> result.result;
  return result;
}

bool InboxResults::has(std::string_view source, std::string_view messageId) {
  return !context_.connection
              .run("SELECT 1 FROM #inbox_results WHERE frame_id=$2 AND source=$1 LIMIT 1", source, messageId)
              .empty();
}

bool InboxResults::forgetOlder(const InboundIdentity& frame) {
  const Result found = context_.connection.run(
      "SELECT sequence FROM #inbox_results WHERE frame_id=$1 AND source=$2 AND origin=$3 AND session=$4 AND sequence "
      "BETWEEN $5 AND $6",
      frame.id, frame.source, frame.origin, frame.session, frame.sequence, lastNumberOf(frame));
  const std::uint64_t refused = found.empty() ? 0 : found.front().as<std::uint64_t>(0);
  // A late request has an earlier instant.
  if (refused == 0 || redriveNumberOf(frame.time) <= refused) {
    return false;
  }
  dropResult(frame);
  const std::string id = markId(frame.session, frame.id);
  if (context_.connection.run("DELETE FROM #processed_messages WHERE id=$1 AND source=$2", id, frame.source)
          .changed() != 0) {
    context_.shares.add(frame.source, -shareOfMark(frame.source, id));
  }
  return true;
}

void InboxResults::keep(const InboxEnding& end, std::chrono::milliseconds retention) {
  const bool isProcessed = end.result->outcome == Outcome::ack;
  const InboundFrame& frame = end.row->frame;
  const WallTime keepUntil = remember(frame, retention);
  if (!isProcessed || !end.result->result.empty()) {
    const bool isRefusedAlone = !isProcessed && frame.sequence == 0;
    keepResult(*end.row, isRefusedAlone ? redriveNumberOf(frame.time) : frame.sequence, *end.result, keepUntil);
  }
}

void InboxResults::keepDiscarded(const InboxEnding& end, std::chrono::milliseconds retention) {
  const InboundFrame& frame = end.row->frame;
  keepResult(*end.row, frame.sequence, *end.result, remember(frame, retention));
}

WallTime InboxResults::remember(const InboundFrame& frame, std::chrono::milliseconds retention) {
  const WallTime least = context_.now() + retention;
  return frame.sequence == 0 ? marks_.prolong(frame, least) : least;
}

void InboxResults::keepResult(const InboxRow& row, std::uint64_t number, const FrameResult& result,
                              WallTime keepUntil) {
  const InboundFrame& frame = row.frame;
  const std::string_view detail = truncatedError(result.detail);
  const KeptSession session(frame);
  InboundIdentity name;
  name.source = frame.source;
  name.id = frame.id;
  name.origin = frame.origin;
  name.session = session.name();
  name.sequence = frame.sequence;
  dropResult(name);
  context_.connection.run(
      "INSERT INTO #inbox_results(frame_id,source,origin,session,sequence,outcome,code,detail,result,keep_until_ms,"
      "type,starts,ended_at_ms) VALUES($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13)",
      frame.id, frame.source, frame.origin, session.name(), number, result.outcome, NullIfEmpty{result.code},
      NullIfEmpty{detail}, NullIfEmpty{result.result}, keepUntil, frame.type, row.starts, context_.now());
  context_.shares.add(frame.source,
                      shareOfResult(frame.source, frame.origin, session.name(), frame.id,
                                    result.code.size() + detail.size() + result.result.size() + frame.type.size()));
}

void InboxResults::dropResult(const InboundIdentity& frame) {
  for (const Row& row : context_.connection.run(
           "DELETE FROM #inbox_results WHERE frame_id=$1 AND source=$2 AND origin=$3 AND session=$4 AND sequence "
           "BETWEEN $5 AND $6 RETURNING "
           "octet_length(coalesce(code,'')||coalesce(detail,'')||coalesce(result,'')||type)",
           frame.id, frame.source, frame.origin, frame.session, frame.sequence, lastNumberOf(frame))) {
    context_.shares.add(frame.source,
                        -shareOfResult(frame.source, frame.origin, frame.session, frame.id, row.as<std::size_t>(0)));
  }
}

void InboxResults::purge(std::size_t limit) {
  for (const Row& row : context_.connection.run(
           "DELETE FROM #inbox_results WHERE ctid=ANY(ARRAY(SELECT ctid FROM #inbox_results WHERE keep_until_ms<$1 "
           "ORDER BY keep_until_ms LIMIT $2 FOR UPDATE SKIP LOCKED)) RETURNING "
           "octet_length(coalesce(code,'')||coalesce(detail,'')||coalesce(result,'')||type),source,origin,session,"
           "frame_id",
           context_.now(), limit)) {
    context_.shares.add(row.view(1),
                        -shareOfResult(row.view(1), row.view(2), row.view(3), row.view(4), row.as<std::size_t>(0)));
  }
}

}  // namespace ackbox::store::postgres
