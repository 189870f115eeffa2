#include "store/inbound_marks.hpp"

#include <algorithm>

namespace ackbox::store {
namespace {

// The tolerance between two hosts' clocks, as for signatures.
constexpr std::chrono::milliseconds kClockSkew = std::chrono::seconds(300);

// A longer gap is counted as this one.
constexpr std::uint64_t kGapMax = std::uint64_t{1} << 32U;

}  // namespace

InboundMarks::InboundMarks(Context& context)
    : context_(context),
      selectSession_(
          context.prepare("SELECT accepted_sequence,epoch FROM #inbound_sessions WHERE origin=?1 AND session=?2")),
      markSession_(context.prepare(
          "INSERT INTO #inbound_sessions(origin,session,accepted_sequence,epoch,gaps,updated_at_ms) "
          "VALUES(?1,?2,?3,?4,?5,?6) ON CONFLICT(origin,session) DO UPDATE SET "
          "accepted_sequence=max(accepted_sequence,?3), epoch=max(epoch,?4), gaps=gaps+?5, updated_at_ms=?6")),
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
  {
    Query query(selectSession_, frame.origin, frame.session);
    if (query.next()) {
      reply.accepted = query.as<std::uint64_t>(0);
      epoch = query.as<std::uint64_t>(1);
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

void InboundMarks::markProcessed(const InboundIdentity& frame, std::uint64_t gap, std::chrono::milliseconds retention) {
  const WallTime now = context_.clock.wallNow();
  if (frame.sequence == 0) {
    // An expired frame is refused, so a purged id cannot come back before its expiry.
    const WallTime keepUntil = std::max(now + retention, frame.expiresAt ? *frame.expiresAt + kClockSkew : WallTime());
    Query(markMessage_, frame.id, frame.source, now, keepUntil).run();
  } else {
    Query(markSession_, frame.origin, frame.session, frame.sequence, frame.epoch, gap, now).run();
    context_.counters.add(Counter::gaps, static_cast<std::int64_t>(gap));
  }
  context_.counters.add(Counter::received, 1);
}

std::size_t InboundMarks::purge(std::size_t limit) {
  return Query(purge_, context_.clock.wallNow(), limit).run();
}

}  // namespace ackbox::store
