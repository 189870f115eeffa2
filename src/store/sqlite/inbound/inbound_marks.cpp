#include "store/sqlite/inbound/inbound_marks.hpp"
#include "store/digest.hpp"
#include "store/kept_session.hpp"

#include <algorithm>

namespace ackbox::store::sqlite {
namespace {

// Sessions whose mark is kept in memory: 5 MB, and seven times that with the longest names.
constexpr std::size_t kMarksMax = 20'000;

// SQLite would return 0, and applied frames would take effect again.
void requireNumbers(bool areNumbers, const InboundIdentity& frame) {
  if (!areNumbers) {
    throw Error(Errc::databaseCorrupt, "what was accepted of session '" + std::string(frame.session) + "' from " +
                                           std::string(frame.source) +
                                           " is no number: other SQL has changed it; ackbox verify FILE names it");
  }
}

bool isReached(std::int64_t gauge, std::uint64_t most) {
  return gauge > 0 && static_cast<std::uint64_t>(gauge) >= most;
}

}  // namespace

InboundMarks::InboundMarks(Context& context)
    : context_(context),
      selectOrigin_(context.prepare("SELECT epoch,state,seen_at_ms,typeof(epoch)||typeof(state)='integerinteger' FROM "
                                    "#inbound_origins WHERE source=?1 AND origin=?2")),
      markOrigin_(context.prepare(
          "INSERT INTO #inbound_origins(source,origin,epoch,state,began_at_ms,seen_at_ms) VALUES(?1,?2,?3,0,?4,?4) ON "
          "CONFLICT(source,origin) DO UPDATE SET epoch=max(epoch,?3), seen_at_ms=?4")),
      selectSession_(context.prepare("SELECT id,accepted_sequence,epoch,accepted_id,accepted_digest,"
                                     "typeof(accepted_sequence)||typeof(epoch)='integerinteger' FROM #inbound_sessions "
                                     "WHERE source=?1 AND origin=?2 AND session=?3")),
      insertSession_(context.prepare(
          "INSERT INTO #inbound_sessions(source,origin,session,accepted_sequence,epoch,gaps,updated_at_ms,accepted_id,"
          "accepted_digest) VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9)")),
      updateSession_(context.prepare("UPDATE #inbound_sessions SET accepted_sequence=?2, epoch=?3, gaps=gaps+?4, "
                                     "updated_at_ms=?5, accepted_id=?6, "
                                     "accepted_digest=?7 WHERE id=?1")),
      selectMessage_(context.prepare("SELECT digest FROM #processed_messages WHERE id=?1 AND source=?2")),
      markMessage_(context.prepare("INSERT INTO #processed_messages(id,source,processed_at_ms,keep_until_ms,digest) "
                                   "VALUES(?1,?2,?3,?4,?5) ON CONFLICT(id,source) DO NOTHING")),
      prolong_(context.prepare("UPDATE #processed_messages SET keep_until_ms=max(keep_until_ms,?3) WHERE id=?1 AND "
                               "source=?2 RETURNING keep_until_ms")),
      purge_(context.prepare("DELETE FROM #processed_messages WHERE (id,source) IN (SELECT id,source FROM "
                             "#processed_messages WHERE keep_until_ms<?1 ORDER BY keep_until_ms LIMIT ?2) "
                             "RETURNING source,id")),
      // ?2: silent since before this instant; ?3: a store that began later is too new to have replaced another one.
      closeSilent_(context.prepare(
          "UPDATE #inbound_origins SET state=1 WHERE source=?1 AND origin IN (SELECT origin FROM #inbound_origins "
          "INDEXED BY #inbound_origins_seen WHERE source=?1 AND state=0 AND seen_at_ms<min(?2,coalesce((SELECT "
          "began_at_ms FROM #inbound_origins INDEXED BY #inbound_origins_began WHERE source=?1 AND began_at_ms<=?3 "
          "ORDER BY began_at_ms DESC LIMIT 1),0)-?4) ORDER BY seen_at_ms LIMIT 4)")),
      selectClosing_(context.prepare("SELECT origin FROM #inbound_origins INDEXED BY #inbound_origins_closing WHERE "
                                     "source=?1 AND state=1 AND origin>=?2 ORDER BY origin LIMIT 1")),
      closeSwept_(context.prepare("UPDATE #inbound_origins SET state=2 WHERE source=?1 AND origin=?2 AND NOT EXISTS("
                                  "SELECT 1 FROM #inbound_sessions WHERE source=?1 AND origin=?2)")),
      // ?4: only this store's sessions; NULL: all stores'. A BLOB sorts above any text.
      selectSessions_(context.prepare(
          "SELECT id,origin,session,EXISTS(SELECT 1 FROM #inbox AS i WHERE i.source=?1 AND i.origin=s.origin AND "
          "i.session=s.session) FROM #inbound_sessions AS s WHERE source=?1 AND (origin,session)>=(?2,?3) AND "
          "origin<=coalesce(?4,x'ff') ORDER BY origin,session LIMIT ?5")),
      dropSession_(context.prepare("DELETE FROM #inbound_sessions WHERE id=?1")),
      selectOrigins_(context.prepare("SELECT origin FROM #inbound_origins WHERE source=?1 AND origin>=?2 AND "
                                     "origin<=coalesce(?3,x'ff') ORDER BY origin LIMIT ?4")),
      dropOrigin_(context.prepare("DELETE FROM #inbound_origins WHERE source=?1 AND origin=?2 AND NOT EXISTS(SELECT 1 "
                                  "FROM #inbound_sessions WHERE source=?1 AND origin=?2)")),
      // Looks at all senders' rows: neither table has an index on the sender, which each mark would have to update.
      selectResults_(context.prepare(
          "SELECT frame_id,source,origin,session,sequence,length(CAST(coalesce(code,'')||coalesce(detail,'')||"
          "coalesce(result,'')||type AS BLOB)) FROM #inbox_results WHERE "
          "(frame_id,source,origin,session,sequence)>(?1,?2,?3,"
          "?4,?5) ORDER BY frame_id,source,origin,session,sequence LIMIT ?6")),
      dropResult_(context.prepare("DELETE FROM #inbox_results WHERE frame_id=?1 AND source=?2 AND origin=?3 AND "
                                  "session=?4 AND sequence=?5")),
      selectMarks_(context.prepare("SELECT id,source FROM #processed_messages WHERE (id,source)>(?1,?2) ORDER BY "
                                   "id,source LIMIT ?3")),
      dropMark_(context.prepare("DELETE FROM #processed_messages WHERE id=?1 AND source=?2")) {}

AdmissionReply InboundMarks::admit(const InboundIdentity& frame) {
  if (frame.sequence == 0) {
    AdmissionReply reply;
    // Must live as long as the query.
    const std::string id = markId(frame.session, frame.id);
    Query query(selectMessage_, id, frame.source);
    if (query.next()) {
      const bool isOther = !query.isNull(0) && query.as<std::uint64_t>(0) != frame.digest;
      reply.admission = isOther ? Admission::idConflict : Admission::duplicate;
    }
    return reply;
  }
  const Mark& mark = markOf(frame);
  const SenderStore& origin = originOf(frame);
  AdmissionReply reply = admission(frame, mark, origin);
  if (reply.admission != Admission::take && mark.key == 0) {
    // Sessions without an accepted frame are not kept.
    sessions_.erase(name_);
  }
  return reply;
}

InboundMarks::Mark& InboundMarks::markOf(const InboundIdentity& frame) {
  // No name has control characters, so newlines keep them apart.
  name_.assign(frame.source).append("\n").append(frame.origin).append("\n").append(frame.session);
  if (const auto known = sessions_.find(name_); known != sessions_.end()) {
    return known->second;
  }
  if (sessions_.size() >= kMarksMax) {
    flush();
    sessions_.clear();
  }
  Mark mark;
  if (Query query(selectSession_, frame.source, frame.origin, frame.session); query.next()) {
    Columns columns(query);
    columns >> mark.key >> mark.accepted >> mark.epoch >> mark.acceptedId >> mark.acceptedDigest;
    requireNumbers(columns.next<bool>(), frame);
  }
  return sessions_.emplace(name_, std::move(mark)).first->second;
}

SenderStore& InboundMarks::originOf(const InboundIdentity& frame) {
  if (origins_.size() >= kOriginsMax) {
    origins_.clear();
  }
  const auto name = std::string_view(name_).substr(0, frame.source.size() + 1 + frame.origin.size());
  auto place = origins_.find(name);
  if (place == origins_.end()) {
    SenderStore origin;
    if (Query query(selectOrigin_, frame.source, frame.origin); query.next()) {
      requireNumbers(query.integer(3) != 0, frame);
      origin = {true, query.integer(1) != 0, query.as<std::uint64_t>(0), query.instant(2)};
    }
    place = origins_.emplace(name, origin).first;
  }
  return place->second;
}

void InboundMarks::markOrigin(const InboundIdentity& frame, WallTime now, std::chrono::milliseconds silence) {
  SenderStore& origin = originOf(frame);
  const bool isNew = !origin.isKnown;
  const bool isSeen = origin.isSeenAnew(now);
  if (!isSeen && frame.epoch <= origin.epoch) {
    return;
  }
  Query(markOrigin_, frame.source, frame.origin, frame.epoch, now).run();
  origin = {true, false, std::max(origin.epoch, frame.epoch), now};
  if (isNew) {
    context_.shares.add(frame.source, shareOfOrigin(frame.source, frame.origin));
  }
  if (isSeen && silence.count() > 0) {
    closeSilent(frame.source, now, silence);
  }
}

void InboundMarks::markProcessed(const InboundIdentity& frame, std::uint64_t gap, const MarkLife& life) {
  markAccepted(frame, gap, life);
  context_.counters.add(Counter::received, 1);
}

void InboundMarks::countDuplicate() {
  context_.counters.add(Counter::duplicates, 1);
}

void InboundMarks::countRefused(Admission admission) {
  context_.counters.add(admission == Admission::idConflict ? Counter::idConflicts : Counter::staleEpochs, 1);
}

void InboundMarks::countRefusals(std::uint64_t unauthenticated, std::uint64_t forbidden) {
  context_.counters.add(Counter::refusedUnauthenticated, static_cast<std::int64_t>(unauthenticated));
  context_.counters.add(Counter::refusedForbidden, static_cast<std::int64_t>(forbidden));
}

std::optional<InboundLimit> InboundMarks::limitReached(const InboundIdentity& frame, const InboundLimits& limits) {
  const std::optional<InboundLimit> reached = findLimit(frame, limits);
  if (reached) {
    context_.counters.add(Counter::refusedLimits, 1);
  }
  return reached;
}

std::optional<InboundLimit> InboundMarks::findLimit(const InboundIdentity& frame, const InboundLimits& limits) {
  bool isNewSession = false;
  bool isNewOrigin = false;
  if (frame.sequence != 0) {
    isNewSession = markOf(frame).key == 0;
    isNewOrigin = !originOf(frame).isKnown;
    if (!isNewSession && !isNewOrigin) {
      return std::nullopt;
    }
  }
  const auto look = [&]() -> std::optional<InboundLimit> {
    const SenderShare& share = context_.shares.of(frame.source);
    if (isNewSession && isReached(share.sessions, limits.sessionsMax)) {
      return InboundLimit::sessions;
    }
    if (isNewOrigin && isReached(share.origins, limits.originsMax)) {
      return InboundLimit::origins;
    }
    if (frame.sequence == 0 && isReached(share.marks, limits.marksMax)) {
      return InboundLimit::marks;
    }
    return bytesLimitReached(frame.source, limits);
  };
  std::optional<InboundLimit> limit = look();
  if (limit) {
    // Some rows may no longer be needed.
    purge(kSweptAtLimit);
    sweep(frame.source, kSweptAtLimit);
    limit = look();
  }
  if (limit && isNewSession) {
    // Sessions without an accepted frame are not kept.
    sessions_.erase(name_);
  }
  return limit;
}

std::optional<InboundLimit> InboundMarks::bytesLimitReached(std::string_view source, const InboundLimits& limits) {
  if (isReached(context_.shares.of(source).bytes, limits.bytesMax)) {
    return InboundLimit::bytes;
  }
  return isReached(context_.counters.value(Counter::inboundBytes), limits.totalBytesMax)
             ? std::optional(InboundLimit::totalBytes)
             : std::nullopt;
}

std::optional<InboundLimit> InboundMarks::resultLimitReached(std::string_view source, const InboundLimits& limits) {
  return isReached(context_.shares.of(source).marks, limits.marksMax) ? std::optional(InboundLimit::marks)
                                                                      : bytesLimitReached(source, limits);
}

void InboundMarks::markAccepted(const InboundIdentity& frame, std::uint64_t gap, const MarkLife& life) {
  requireNoScope();
  const WallTime now = context_.clock.wallNow();
  if (frame.sequence == 0) {
    const WallTime keepUntil = markKeptUntil(frame, life, now);
    const std::string id = markId(frame.session, frame.id);
    if (Query(markMessage_, id, frame.source, now, keepUntil, frame.digest).run() != 0) {
      context_.shares.add(frame.source, shareOfMark(frame.source, id));
    }
  } else {
    Mark& mark = markOf(frame);
    mark.accept(frame);
    mark.updatedAt = now;
    if (mark.key == 0) {
      Query(insertSession_, frame.source, frame.origin, frame.session, mark.accepted, mark.epoch, gap, now,
            mark.acceptedId, mark.acceptedDigest)
          .run();
      mark.key = sqlite3_last_insert_rowid(context_.connection.handle());
      context_.shares.add(frame.source, shareOfSession(frame.source, frame.origin, frame.session));
      sweep(frame.source, kSweptEach);
    } else {
      mark.gaps += static_cast<std::int64_t>(gap);
      if (!mark.isChanged) {
        mark.isChanged = true;
        changed_.push_back(&mark);
      }
    }
    markOrigin(frame, now, life.silence);
    context_.counters.add(Counter::gaps, static_cast<std::int64_t>(gap));
  }
}

WallTime InboundMarks::prolong(const InboundFrame& frame, WallTime least) {
  const std::string id = markId(KeptSession(frame).name(), frame.id);
  if (Query query(prolong_, id, frame.source, least); query.next()) {
    return Columns(query).next<WallTime>();
  }
  Query(markMessage_, id, frame.source, context_.clock.wallNow(), least, digestOf(frame.type, frame.data)).run();
  context_.shares.add(frame.source, shareOfMark(frame.source, id));
  return least;
}

void InboundMarks::flush() {
  for (Mark* const mark : changed_) {
    Query update(updateSession_, mark->key, mark->accepted, mark->epoch, mark->gaps, mark->updatedAt, mark->acceptedId,
                 mark->acceptedDigest);
    if (update.run() != 1) {
      // Frames without a mark would take effect again.
      throw Error(Errc::databaseCorrupt, "foreign statements deleted an inbound session's mark");
    }
    mark->isChanged = false;
    mark->gaps = 0;
  }
  changed_.clear();
}

void InboundMarks::forget() noexcept {
  changed_.clear();
  sessions_.clear();
  origins_.clear();
}

}  // namespace ackbox::store::sqlite
