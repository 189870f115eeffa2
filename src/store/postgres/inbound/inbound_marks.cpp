#include "store/postgres/inbound/inbound_marks.hpp"

#include <algorithm>

#include "store/digest.hpp"
#include "store/kept_session.hpp"

namespace ackbox::store::postgres {
namespace {

// Marks that are written at once.
constexpr std::size_t kMarksMax = 20'000;

// No name has control characters, so newlines keep them apart.
std::string keyOf(const InboundIdentity& frame) {
  return std::string(frame.source).append("\n").append(frame.origin).append("\n").append(frame.session);
}

bool isReached(std::int64_t gauge, std::uint64_t most) {
  return gauge > 0 && static_cast<std::uint64_t>(gauge) >= most;
}

}  // namespace

AdmissionReply InboundMarks::admit(const InboundIdentity& frame) {
  if (frame.sequence == 0) {
    AdmissionReply reply;
    const std::string id = markId(frame.session, frame.id);
    const Result result =
        context_.connection.run("SELECT digest FROM #processed_messages WHERE id=$1 AND source=$2", id, frame.source);
    if (result.empty()) {
      absent_.insert(std::string(frame.source).append("\n").append(id));
    } else {
      const bool isOther = result.front().as<std::uint64_t>(0) != frame.digest;
      reply.admission = isOther ? Admission::idConflict : Admission::duplicate;
    }
    return reply;
  }
  return admission(frame, markOf(frame), originOf(frame));
}

InboundMarks::Mark& InboundMarks::markOf(const InboundIdentity& frame) {
  const std::string name = keyOf(frame);
  if (const auto known = sessions_.find(name); known != sessions_.end()) {
    return known->second;
  }
  if (sessions_.size() >= kMarksMax) {
    // They stay locked.
    flush();
    sessions_.clear();
  }
  Mark mark;
  if (const Result result = context_.connection.run(
          "SELECT id,accepted_sequence,epoch,accepted_id,accepted_digest FROM #inbound_sessions WHERE source=$1 AND "
          "origin=$2 AND session=$3 FOR NO KEY UPDATE",
          frame.source, frame.origin, frame.session);
      !result.empty()) {
    Columns columns(result.front());
    columns >> mark.key >> mark.accepted >> mark.epoch >> mark.acceptedId >> mark.acceptedDigest;
  }
  return sessions_.emplace(name, std::move(mark)).first->second;
}

SenderStore& InboundMarks::originOf(const InboundIdentity& frame) {
  const std::string name = std::string(frame.source).append("\n").append(frame.origin);
  auto place = origins_.find(name);
  if (place == origins_.end()) {
    SenderStore origin;
    if (const Result result =
            context_.connection.run("SELECT epoch,state,seen_at_ms FROM #inbound_origins WHERE source=$1 AND origin=$2",
                                    frame.source, frame.origin);
        !result.empty()) {
      const Row row = result.front();
      origin = {true, row.integer(1) != 0, row.as<std::uint64_t>(0), row.instant(2)};
    }
    place = origins_.emplace(name, origin).first;
  }
  return place->second;
}

void InboundMarks::markOrigin(const InboundIdentity& frame, WallTime now, std::chrono::milliseconds silence) {
  SenderStore& origin = originOf(frame);
  const bool isSeen = origin.isSeenAnew(now);
  if (!isSeen && frame.epoch <= origin.epoch) {
    return;
  }
  // Where another transaction is marking the store, this one does not wait for it: its next frame will mark it.
  if (context_.connection
          .run("SELECT pg_try_advisory_xact_lock('#peers'::regclass::oid::integer,hashtext($1::text || chr(10) || $2))",
               frame.source, frame.origin)
          .front()
          .integer(0) == 0) {
    return;
  }
  const Result result = context_.connection.run(
      "INSERT INTO #inbound_origins AS o (source,origin,epoch,state,began_at_ms,seen_at_ms) VALUES($1,$2,$3,0,$4,$4) "
      "ON CONFLICT(source,origin) DO UPDATE SET epoch=greatest(o.epoch,$3), seen_at_ms=$4 RETURNING xmax=0",
      frame.source, frame.origin, frame.epoch, now);
  const bool isNew = result.front().integer(0) != 0;
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
  context_.counts.add(Count::received, 1);
}

void InboundMarks::countRefused(Admission admission) {
  context_.counts.add(admission == Admission::idConflict ? Count::idConflicts : Count::staleEpochs, 1);
}

void InboundMarks::countRefusals(std::uint64_t unauthenticated, std::uint64_t forbidden) {
  context_.counts.add(Count::refusedUnauthenticated, static_cast<std::int64_t>(unauthenticated));
  context_.counts.add(Count::refusedForbidden, static_cast<std::int64_t>(forbidden));
}

std::optional<InboundLimit> InboundMarks::limitReached(const InboundIdentity& frame, const InboundLimits& limits) {
  const std::optional<InboundLimit> reached = findLimit(frame, limits);
  if (reached) {
    context_.counts.add(Count::refusedLimits, 1);
  }
  return reached;
}

std::optional<InboundLimit> InboundMarks::findLimit(const InboundIdentity& frame, const InboundLimits& limits) {
  const bool isNewSession = frame.sequence != 0 && markOf(frame).key == 0;
  const bool isNewOrigin = frame.sequence != 0 && !originOf(frame).isKnown;
  if (frame.sequence != 0 && !isNewSession && !isNewOrigin) {
    return std::nullopt;
  }
  const auto look = [&]() -> std::optional<InboundLimit> {
    const SenderShare share = context_.shares.of(frame.source);
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
  return limit;
}

std::optional<InboundLimit> InboundMarks::bytesLimitReached(std::string_view source, const InboundLimits& limits) {
  if (isReached(context_.shares.of(source).bytes, limits.bytesMax)) {
    return InboundLimit::bytes;
  }
  return isReached(context_.counts.value(Count::inboundBytes), limits.totalBytesMax)
             ? std::optional(InboundLimit::totalBytes)
             : std::nullopt;
}

std::optional<InboundLimit> InboundMarks::resultLimitReached(std::string_view source, const InboundLimits& limits) {
  return isReached(context_.shares.of(source).marks, limits.marksMax) ? std::optional(InboundLimit::marks)
                                                                      : bytesLimitReached(source, limits);
}

void InboundMarks::markAccepted(const InboundIdentity& frame, std::uint64_t gap, const MarkLife& life) {
  const WallTime now = context_.now();
  if (frame.sequence == 0) {
    const std::string id = markId(frame.session, frame.id);
    const std::size_t made =
        context_.connection
            .run(
                "INSERT INTO #processed_messages(id,source,processed_at_ms,keep_until_ms,digest) VALUES($1,$2,$3,$4,"
                "$5) ON CONFLICT(id,source) DO NOTHING",
                id, frame.source, now, markKeptUntil(frame, life, now), frame.digest)
            .changed();
    const bool wasAbsent = absent_.erase(std::string(frame.source).append("\n").append(id)) != 0;
    if (made != 0) {
      context_.shares.add(frame.source, shareOfMark(frame.source, id));
    } else if (wasAbsent) {
      context_.connection.noteRace();
      throw Error(Errc::databaseBusy, "another transaction has just taken the frame");
    }
    return;
  }
  Mark& mark = markOf(frame);
  mark.accept(frame);
  if (mark.key == 0) {
    mark.key = context_.connection
                   .run(
                       "INSERT INTO #inbound_sessions(source,origin,session,accepted_sequence,epoch,gaps,"
                       "updated_at_ms,accepted_id,accepted_digest) VALUES($1,$2,$3,$4,$5,$6,$7,$8,$9) RETURNING id",
                       frame.source, frame.origin, frame.session, mark.accepted, mark.epoch, gap, now, mark.acceptedId,
                       *mark.acceptedDigest)
                   .front()
                   .integer(0);
    context_.shares.add(frame.source, shareOfSession(frame.source, frame.origin, frame.session));
    sweep(frame.source, kSweptEach);
  } else {
    mark.gaps += gap;
    mark.isChanged = true;
  }
  markOrigin(frame, now, life.silence);
  context_.counts.add(Count::gaps, static_cast<std::int64_t>(gap));
}

WallTime InboundMarks::prolong(const InboundFrame& frame, WallTime least) {
  const std::string id = markId(KeptSession(frame).name(), frame.id);
  const Result result = context_.connection.run(
      "UPDATE #processed_messages SET keep_until_ms=greatest(keep_until_ms,$3) WHERE id=$1 AND source=$2 RETURNING "
      "keep_until_ms",
      id, frame.source, least);
  if (!result.empty()) {
    return result.front().instant(0);
  }
  context_.connection.run(
      "INSERT INTO #processed_messages(id,source,processed_at_ms,keep_until_ms,digest) VALUES($1,$2,$3,$4,$5)", id,
      frame.source, context_.now(), least, digestOf(frame.type, frame.data));
  context_.shares.add(frame.source, shareOfMark(frame.source, id));
  return least;
}

// Marks that moved are written together.
void InboundMarks::flush() {
  ArrayText columns[6];
  std::size_t changed = 0;
  for (auto& [name, mark] : sessions_) {
    if (!mark.isChanged) {
      continue;
    }
    ++changed;
    columns[0].add(mark.key);
    columns[1].add(static_cast<std::int64_t>(mark.accepted));
    columns[2].add(static_cast<std::int64_t>(mark.epoch));
    columns[3].add(static_cast<std::int64_t>(mark.gaps));
    columns[4].add(std::string_view(mark.acceptedId));
    columns[5].add(static_cast<std::int64_t>(mark.acceptedDigest.value_or(0)));
    mark.isChanged = false;
    mark.gaps = 0;
  }
  if (changed == 0) {
    return;
  }
  const std::size_t written =
      context_.connection
          .run(
              "UPDATE #inbound_sessions AS s SET accepted_sequence=u.accepted, epoch=u.epoch, gaps=s.gaps+u.gaps, "
              "updated_at_ms=$7, accepted_id=u.id, accepted_digest=u.digest FROM unnest($1::bigint[],$2::bigint[],"
              "$3::bigint[],$4::bigint[],$5::text[],$6::bigint[]) AS u(key,accepted,epoch,gaps,id,digest) WHERE "
              "s.id=u.key",
              columns[0].text(), columns[1].text(), columns[2].text(), columns[3].text(), columns[4].text(),
              columns[5].text(), context_.now())
          .changed();
  if (written != changed) {
    // Frames without a mark would take effect again.
    throw Error(Errc::databaseCorrupt, "foreign statements deleted an inbound session's mark");
  }
}

void InboundMarks::forget() noexcept {
  sessions_.clear();
  origins_.clear();
  absent_.clear();
}

}  // namespace ackbox::store::postgres
