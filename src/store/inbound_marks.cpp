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

}  // namespace

InboundMarks::InboundMarks(Context& context)
    : context_(context),
      selectSession_(
          context.prepare("SELECT accepted_sequence,epoch FROM #inbound_sessions WHERE source=?1 AND origin=?2 AND "
                          "session=?3")),
      markSession_(context.prepare(
          "INSERT INTO #inbound_sessions(source,origin,session,accepted_sequence,epoch,gaps,updated_at_ms) "
          "VALUES(?1,?2,?3,?4,?5,?6,?7) ON CONFLICT(source,origin,session) DO UPDATE SET "
          "accepted_sequence=max(accepted_sequence,?4), epoch=max(epoch,?5), gaps=gaps+?6, updated_at_ms=?7")),
      selectMessage_(context.prepare("SELECT 1 FROM #processed_messages WHERE id=?1 AND source=?2")),
      markMessage_(context.prepare("INSERT INTO #processed_messages(id,source,processed_at_ms,keep_until_ms) "
                                   "VALUES(?1,?2,?3,?4) ON CONFLICT(id,source) DO NOTHING")),
      purge_(context.prepare("DELETE FROM #processed_messages WHERE (id,source) IN (SELECT id,source FROM "
                             "#processed_messages WHERE keep_until_ms<?1 ORDER BY keep_until_ms LIMIT ?2)")) {}

AdmissionReply InboundMarks::admit(const InboundIdentity& frame) {
  AdmissionReply reply;
  if (frame.sequence == 0) {
    Query query(selectMessage_, frame.id, frame.source);
    reply.admission = query.next() ? Admission::duplicate : Admission::take;
    return reply;
  }
  std::uint64_t epoch = 0;
  for (const std::string_view source : {frame.source, kSourceUnknown}) {
    Query query(selectSession_, source, frame.origin, frame.session);
    if (query.next()) {
      reply.accepted = query.as<std::uint64_t>(0);
      epoch = query.as<std::uint64_t>(1);
      break;
    }
  }
  if (frame.epoch < epoch) {
    // Before the comparison of sequences: a restored sender's numbers may name other content.
    reply.admission = Admission::staleEpoch;
  } else if (frame.sequence <= reply.accepted) {
    reply.admission = Admission::duplicate;
  } else if (frame.previousSequence > reply.accepted) {
    reply.admission = Admission::outOfSequence;
  } else {
    // A peer may claim any number; sums of the capped value stay within 64 bits.
    reply.gap = std::min(frame.sequence - reply.accepted - 1, kGapMax);
  }
  return reply;
}

void InboundMarks::mark(const InboundIdentity& frame, std::uint64_t gap, const MarkLife& life) {
  const WallTime now = context_.clock.wallNow();
  if (frame.sequence == 0) {
    // An expired frame is refused, so a purged id cannot come back, unless its expiry lies beyond the most that is
    // kept. Compared first: an expiry at the end of time has no room for the skew.
    const WallTime most = now + life.most;
    const WallTime wished = frame.expiresAt ? std::min(*frame.expiresAt, most) + kClockSkew : WallTime();
    const WallTime keepUntil = std::max(now + life.least, std::min(wished, most));
    Query(markMessage_, frame.id, frame.source, now, keepUntil).run();
  } else {
    Query(markSession_, frame.source, frame.origin, frame.session, frame.sequence, frame.epoch, gap, now).run();
    context_.counters.add(Counter::gaps, static_cast<std::int64_t>(gap));
  }
}

std::size_t InboundMarks::purge(std::size_t limit) {
  return Query(purge_, context_.clock.wallNow(), limit).run();
}

}  // namespace ackbox::store
