#include "store/inbound_marks.hpp"

#include <algorithm>

namespace ackbox::store {
namespace {

// The tolerance between two hosts' clocks, as for signatures.
constexpr std::chrono::milliseconds kClockSkew = std::chrono::seconds(300);

// Marks of files from before version 3, which did not say whose they are, hold for whoever continues them. They are not
// taken away from anyone by that: each source gets a mark of its own as it goes on.
constexpr std::string_view kSourceUnknown;

// A longer gap is counted as this one.
constexpr std::uint64_t kGapMax = std::uint64_t{1} << 32U;

// Senders whose epoch is kept in memory.
constexpr std::size_t kEpochsMax = 1'024;

// Sessions whose mark is kept in memory: 5 MB, and seven times that with the longest names.
constexpr std::size_t kSessionsMax = 20'000;

}  // namespace

InboundMarks::InboundMarks(Context& context)
    : context_(context),
      selectOrigin_(context.prepare("SELECT epoch FROM #inbound_origins WHERE source=?1 AND origin=?2")),
      markOrigin_(context.prepare("INSERT INTO #inbound_origins(source,origin,epoch) VALUES(?1,?2,?3) ON "
                                  "CONFLICT(source,origin) DO UPDATE SET epoch=max(epoch,?3)")),
      selectSession_(context.prepare("SELECT id,accepted_sequence,epoch,accepted_id,accepted_digest FROM "
                                     "#inbound_sessions WHERE source=?1 AND origin=?2 AND session=?3")),
      insertSession_(context.prepare(
          "INSERT INTO #inbound_sessions(source,origin,session,accepted_sequence,epoch,gaps,updated_at_ms,accepted_id,"
          "accepted_digest) VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9)")),
      updateSession_(context.prepare("UPDATE #inbound_sessions SET accepted_sequence=?2, epoch=?3, gaps=gaps+?4, "
                                     "updated_at_ms=?5, accepted_id=?6, "
                                     "accepted_digest=?7 WHERE id=?1")),
      selectMessage_(context.prepare("SELECT digest FROM #processed_messages WHERE id=?1 AND source=?2")),
      markMessage_(context.prepare("INSERT INTO #processed_messages(id,source,processed_at_ms,keep_until_ms,digest) "
                                   "VALUES(?1,?2,?3,?4,?5) ON CONFLICT(id,source) DO NOTHING")),
      purge_(context.prepare("DELETE FROM #processed_messages WHERE (id,source) IN (SELECT id,source FROM "
                             "#processed_messages WHERE keep_until_ms<?1 ORDER BY keep_until_ms LIMIT ?2)")) {}

std::string markId(std::string_view session, std::string_view id) {
  return session.empty() ? std::string(id) : std::string(session).append("\n").append(id);
}

AdmissionReply InboundMarks::admit(const InboundIdentity& frame) {
  AdmissionReply reply;
  if (frame.sequence == 0) {
    // Kept while the query looks at it.
    const std::string id = markId(frame.session, frame.id);
    Query query(selectMessage_, id, frame.source);
    if (query.next()) {
      const bool isOther = !query.isNull(0) && query.as<std::uint64_t>(0) != frame.digest;
      reply.admission = isOther ? Admission::idConflict : Admission::duplicate;
    }
    return reply;
  }
  const Mark& mark = markOf(frame);
  reply.accepted = mark.accepted;
  const bool isOther = mark.acceptedDigest && *mark.acceptedDigest != frame.digest;
  if (frame.epoch < std::max(epochOf(frame), mark.epoch)) {
    // Before the comparison of sequences: a restored sender's numbers may name other content.
    reply.admission = Admission::staleEpoch;
  } else if (frame.sequence == reply.accepted && !mark.acceptedId.empty() && mark.acceptedId != frame.id) {
    reply.admission = Admission::numberTaken;
  } else if (frame.sequence == reply.accepted && isOther) {
    reply.admission = Admission::idConflict;
  } else if (frame.sequence <= reply.accepted) {
    reply.admission = Admission::duplicate;
  } else if (frame.previousSequence > reply.accepted) {
    reply.admission = Admission::outOfSequence;
  } else {
    // A peer may claim any number; sums of the capped value stay within 64 bits.
    reply.gap = std::min(frame.sequence - reply.accepted - 1, kGapMax);
  }
  if (reply.admission != Admission::take) {
    reply.acceptedId = mark.acceptedId;
    if (mark.key == 0) {
      // Nothing is kept of sessions that nothing was ever taken of.
      sessions_.erase(name_);
    }
  }
  return reply;
}

InboundMarks::Mark& InboundMarks::markOf(const InboundIdentity& frame) {
  // No name has control characters, so newlines keep them apart.
  name_.assign(frame.source).append("\n").append(frame.origin).append("\n").append(frame.session);
  if (const auto known = sessions_.find(name_); known != sessions_.end()) {
    return known->second;
  }
  if (sessions_.size() >= kSessionsMax) {
    flush();
    sessions_.clear();
  }
  Mark mark;
  for (const bool isOwn : {true, false}) {
    Query query(selectSession_, isOwn ? frame.source : kSourceUnknown, frame.origin, frame.session);
    if (query.next()) {
      mark.key = isOwn ? query.integer(0) : 0;
      mark.accepted = query.as<std::uint64_t>(1);
      mark.epoch = query.as<std::uint64_t>(2);
      mark.acceptedId = query.text(3);
      mark.acceptedDigest = query.isNull(4) ? std::nullopt : std::optional(query.as<std::uint64_t>(4));
      break;
    }
  }
  return sessions_.emplace(name_, std::move(mark)).first->second;
}

std::uint64_t& InboundMarks::epochOf(const InboundIdentity& frame) {
  if (epochs_.size() >= kEpochsMax) {
    epochs_.clear();
  }
  const auto origin = std::string_view(name_).substr(0, frame.source.size() + 1 + frame.origin.size());
  auto place = epochs_.find(origin);
  if (place == epochs_.end()) {
    Query query(selectOrigin_, frame.source, frame.origin);
    place = epochs_.emplace(origin, query.next() ? query.as<std::uint64_t>(0) : 0).first;
  }
  return place->second;
}

void InboundMarks::mark(const InboundIdentity& frame, std::uint64_t gap, const MarkLife& life) {
  const WallTime now = context_.clock.wallNow();
  if (frame.sequence == 0) {
    // An expired frame is refused, so a purged id cannot come back, unless its expiry lies beyond the most that is
    // kept. Compared first: an expiry at the end of time has no room for the skew.
    const WallTime most = now + life.most;
    const WallTime wished = frame.expiresAt ? std::min(*frame.expiresAt, most) + kClockSkew : WallTime();
    const WallTime keepUntil = std::max(now + life.least, std::min(wished, most));
    Query(markMessage_, markId(frame.session, frame.id), frame.source, now, keepUntil, frame.digest).run();
  } else {
    Mark& mark = markOf(frame);
    mark.accepted = std::max(mark.accepted, frame.sequence);
    mark.epoch = std::max(mark.epoch, frame.epoch);
    mark.acceptedId = frame.id;
    mark.acceptedDigest = frame.digest;
    mark.updatedAt = now;
    if (mark.key == 0) {
      Query(insertSession_, frame.source, frame.origin, frame.session, mark.accepted, mark.epoch, gap, now,
            mark.acceptedId, mark.acceptedDigest)
          .run();
      mark.key = sqlite3_last_insert_rowid(context_.connection.handle());
    } else {
      mark.gaps += static_cast<std::int64_t>(gap);
      if (!mark.isChanged) {
        mark.isChanged = true;
        changed_.push_back(&mark);
      }
    }
    if (std::uint64_t& epoch = epochOf(frame); frame.epoch > epoch) {
      Query(markOrigin_, frame.source, frame.origin, frame.epoch).run();
      epoch = frame.epoch;
    }
    context_.counters.add(Counter::gaps, static_cast<std::int64_t>(gap));
  }
}

void InboundMarks::flush() {
  for (Mark* const mark : changed_) {
    Query update(updateSession_, mark->key, mark->accepted, mark->epoch, mark->gaps, mark->updatedAt, mark->acceptedId,
                 mark->acceptedDigest);
    if (update.run() != 1) {
      // Frames that are not marked would take effect again.
      throw Error(Errc::databaseCorrupt, "an inbound session's mark was taken away by foreign statements");
    }
    mark->isChanged = false;
    mark->gaps = 0;
  }
  changed_.clear();
}

void InboundMarks::forget() noexcept {
  changed_.clear();
  sessions_.clear();
  epochs_.clear();
}

std::size_t InboundMarks::purge(std::size_t limit) {
  return Query(purge_, context_.clock.wallNow(), limit).run();
}

}  // namespace ackbox::store
