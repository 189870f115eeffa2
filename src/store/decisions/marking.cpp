#include "store/decisions/marking.hpp"

#include <algorithm>
#include <limits>

namespace ackbox::store {
namespace {

// The tolerance between two hosts' clocks, as for signatures.
constexpr std::chrono::milliseconds kClockSkew = std::chrono::seconds(300);

// A longer gap is counted as this one.
constexpr std::uint64_t kGapMax = std::uint64_t{1} << 32U;

}  // namespace

void SessionMark::accept(const InboundIdentity& frame) {
  accepted = std::max(accepted, frame.sequence);
  epoch = std::max(epoch, frame.epoch);
  acceptedId = frame.id;
  acceptedDigest = frame.digest;
}

// Also if the clock was set back, because the store would otherwise stay silent.
bool SenderStore::isSeenAnew(WallTime now) const noexcept {
  return !isKnown || now - seenAt >= kSeenStep || now + kSeenStep < seenAt;
}

AdmissionReply admission(const InboundIdentity& frame, const SessionMark& mark, const SenderStore& origin) {
  AdmissionReply reply;
  reply.accepted = mark.accepted;
  const bool isOther = mark.acceptedDigest && *mark.acceptedDigest != frame.digest;
  if (origin.isClosed) {
    // Checked first: the accepted frames of a closed store are no longer known, so any frame may be a repetition.
    reply.admission = Admission::closedOrigin;
  } else if (frame.epoch < (frame.isFetched ? mark.epoch : std::max(origin.epoch, mark.epoch))) {
    // Checked before the sequences: a restored sender's numbers may name other frames.
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
  }
  return reply;
}

std::string markId(std::string_view session, std::string_view id) {
  return session.empty() ? std::string(id) : std::string(session).append("\n").append(id);
}

// An expired frame is refused, so a purged id cannot come back, unless its expiry is after the longest retention.
WallTime markKeptUntil(const InboundIdentity& frame, const MarkLife& life, WallTime now) {
  // The minimum is taken first: adding the skew to an expiry at the end of time would overflow.
  const WallTime most = now + life.most;
  const WallTime wished = frame.expiresAt ? std::min(*frame.expiresAt, most) + kClockSkew : WallTime();
  return std::max(now + life.least, std::min(wished, most));
}

std::uint64_t redriveNumberOf(const std::optional<WallTime>& time) {
  return time ? static_cast<std::uint64_t>(std::max<std::int64_t>(1, time->time_since_epoch().count())) : 0;
}

std::uint64_t lastNumberOf(const InboundIdentity& frame) {
  return frame.sequence == 0 ? std::numeric_limits<std::int64_t>::max() : frame.sequence;
}

}  // namespace ackbox::store
