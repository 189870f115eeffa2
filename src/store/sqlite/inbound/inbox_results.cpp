#include "store/sqlite/inbound/inbox_results.hpp"

#include <string>

#include "store/decisions/error_text.hpp"
#include "store/decisions/marking.hpp"
#include "store/kept_session.hpp"

namespace ackbox::store::sqlite {
namespace {

InboundIdentity nameOf(const InboundFrame& frame, const KeptSession& session) {
  InboundIdentity name;
  name.source = frame.source;
  name.id = frame.id;
  name.origin = frame.origin;
  name.session = session.name();
  name.sequence = frame.sequence;
  return name;
}

}  // namespace

InboxResults::InboxResults(Context& context, InboundMarks& marks)
    : context_(context),
      marks_(marks),
      selectResult_(
          context.prepare("SELECT outcome,code,detail,result,sequence FROM #inbox_results WHERE frame_id=?1 AND "
                          "source=?2 AND origin=?3 AND session=?4 AND sequence BETWEEN ?5 AND ?6")),
      dropResult_(context.prepare(
          "DELETE FROM #inbox_results WHERE frame_id=?1 AND source=?2 AND origin=?3 AND session=?4 "
          "AND sequence BETWEEN ?5 AND ?6 RETURNING length(CAST(coalesce(code,'')||coalesce(detail,'')||"
          "coalesce(result,'')||type AS BLOB))")),
      keepResult_(context.prepare("INSERT INTO #inbox_results(frame_id,source,origin,session,sequence,outcome,"
                                  "code,detail,result,keep_until_ms,type,starts,ended_at_ms) "
                                  "VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13)")),
      unmark_(context.prepare("DELETE FROM #processed_messages WHERE id=?1 AND source=?2")),
      purge_(context.prepare(
          "DELETE FROM #inbox_results WHERE (frame_id,source,origin,session,sequence) IN (SELECT "
          "frame_id,source,origin,session,sequence FROM #inbox_results WHERE keep_until_ms<?1 ORDER BY keep_until_ms "
          "LIMIT ?2) RETURNING length(CAST(coalesce(code,'')||coalesce(detail,'')||coalesce(result,'')||type AS BLOB)),"
          "source,origin,session,frame_id")),
      selectOldResult_(context.prepare("SELECT 1 FROM #inbox_results WHERE keep_until_ms<?1 LIMIT 1")),
      findResult_(context.prepare("SELECT 1 FROM #inbox_results WHERE frame_id=?2 AND source=?1 LIMIT 1")) {}

std::optional<FrameResult> InboxResults::find(const InboundIdentity& frame) {
  Query query(selectResult_, frame.id, frame.source, frame.origin, frame.session, frame.sequence, lastNumberOf(frame));
  if (!query.next()) {
    return std::nullopt;
  }
  FrameResult result;
  result.outcome = query.as<Outcome>(0);
  result.code = query.text(1);
  result.detail = query.text(2);
  result.result = query.text(3);
  return result;
}

bool InboxResults::has(std::string_view source, std::string_view messageId) {
  return Query(findResult_, source, messageId).next();
}

bool InboxResults::forgetOlder(const InboundIdentity& frame) {
  {
    Query query(selectResult_, frame.id, frame.source, frame.origin, frame.session, frame.sequence,
                lastNumberOf(frame));
    const std::uint64_t refused = query.next() ? query.as<std::uint64_t>(4) : 0;
    // A late request has an earlier instant.
    if (refused == 0 || redriveNumberOf(frame.time) <= refused) {
      return false;
    }
  }
  dropResult(frame);
  const std::string id = markId(frame.session, frame.id);
  if (Query(unmark_, id, frame.source).run() != 0) {
    context_.shares.add(frame.source, -shareOfMark(frame.source, id));
  }
  return true;
}

void InboxResults::keep(const InboxEnding& end, std::chrono::milliseconds retention) {
  const bool processed = end.result->outcome == Outcome::ack;
  const InboundFrame& frame = end.row->frame;
  const WallTime keepUntil = remember(frame, retention);
  if (!processed || !end.result->result.empty()) {
    const bool isRefusedAlone = !processed && frame.sequence == 0;
    keepResult(*end.row, isRefusedAlone ? redriveNumberOf(frame.time) : frame.sequence, *end.result, keepUntil);
  }
}

void InboxResults::keepDiscarded(const InboxEnding& end, std::chrono::milliseconds retention) {
  const InboundFrame& frame = end.row->frame;
  keepResult(*end.row, frame.sequence, *end.result, remember(frame, retention));
}

WallTime InboxResults::remember(const InboundFrame& frame, std::chrono::milliseconds retention) {
  const WallTime least = context_.clock.wallNow() + retention;
  return frame.sequence == 0 ? marks_.prolong(frame, least) : least;
}

void InboxResults::keepResult(const InboxRow& row, std::uint64_t number, const FrameResult& result,
                              WallTime keepUntil) {
  const InboundFrame& frame = row.frame;
  const std::string_view detail = truncatedError(result.detail);
  const KeptSession session(frame);
  dropResult(nameOf(frame, session));
  Query(keepResult_, frame.id, frame.source, frame.origin, session.name(), number, result.outcome,
        NullIfEmpty{result.code}, NullIfEmpty{detail}, NullIfEmpty{result.result}, keepUntil, frame.type, row.starts,
        context_.clock.wallNow())
      .run();
  context_.shares.add(frame.source,
                      shareOfResult(frame.source, frame.origin, session.name(), frame.id,
                                    result.code.size() + detail.size() + result.result.size() + frame.type.size()));
}

void InboxResults::dropResult(const InboundIdentity& frame) {
  for (Query query(dropResult_, frame.id, frame.source, frame.origin, frame.session, frame.sequence,
                   lastNumberOf(frame));
       query.next();) {
    context_.shares.add(frame.source,
                        -shareOfResult(frame.source, frame.origin, frame.session, frame.id, query.as<std::size_t>(0)));
  }
}

// Looks first, which costs a tenth of a deletion that finds nothing, because each completion calls this.
void InboxResults::purge(std::size_t limit) {
  const WallTime now = context_.clock.wallNow();
  if (!Query(selectOldResult_, now).next()) {
    return;
  }
  for (Query query(purge_, now, limit); query.next();) {
    const std::string source = query.text(1);
    context_.shares.add(source,
                        -shareOfResult(source, query.view(2), query.view(3), query.view(4), query.as<std::size_t>(0)));
  }
}

}  // namespace ackbox::store::sqlite
