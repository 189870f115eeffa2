#include "reception/admission.hpp"

#include <algorithm>
#include <utility>

#include "delivery/check.hpp"

namespace ackbox::reception {
namespace {

Decision refuse(Outcome outcome, std::string code, std::string detail) {
  Decision decision{.step = Step::refuse};
  decision.result.outcome = outcome;
  decision.result.code = std::move(code);
  decision.result.detail = std::move(detail);
  return decision;
}

Decision refuseCounted(Admission admission, std::string code, std::string detail) {
  Decision decision = refuse(Outcome::term, std::move(code), std::move(detail));
  decision.counted = admission;
  return decision;
}

Decision hold(const char* why) {
  Decision decision = refuse(Outcome::nack, "held", why);
  decision.result.held = true;
  return decision;
}

// The sender waits for a long time: an operator has to act, or marks have to expire.
Decision overLimit(InboundLimit limit) {
  constexpr std::chrono::minutes kPause{1};
  // The total over all senders is not disclosed to a sender.
  const InboundLimit named = limit == InboundLimit::totalBytes ? InboundLimit::bytes : limit;
  Decision decision =
      refuse(Outcome::nack, "limit-" + std::string(toString(named)),
             "the receiver keeps as many " + std::string(toString(named)) +
                 " of this sender as its InboundLimits allow: raise the limit there, or forget what is not "
                 "needed any more");
  decision.result.retryAfter = kPause;
  return decision;
}

Decision keep(const Known& known) {
  if (!known.inbox) {
    return {.step = Step::checkRoom};
  }
  if (known.inbox->reached == InboundLimit::mailbox) {
    return refuse(Outcome::nack, "limit-mailbox",
                  "the mailbox has no room for more frames of this sender until its agent has fetched some");
  }
  if (known.inbox->reached) {
    return refuse(Outcome::nack, "inbox-full",
                  "the receiver has no room for more deferred frames of this sender until some are done");
  }
  return {.step = Step::keep};
}

std::optional<Admission> admissionOf(const Known& known) {
  return known.inInbox || !known.mark ? known.inInbox : std::optional(known.mark->admission);
}

}  // namespace

void RequestAdmission::begin(const InboundFrame& frame) {
  frame_ = &frame;
  session_ = frame.sequence == 0 ? &none_ : &sessions_[{frame.session, frame.source, frame.origin, frame.mailbox}];
}

Decision RequestAdmission::next(const Known& known) const {
  if (known.refusal != nullptr) {
    return {.step = Step::refuse, .result = *known.refusal};
  }
  if (session_->isStopped) {
    return hold("an earlier frame of this session was not taken");
  }
  if (const std::string& audience = frame_->audience;
      !audience.empty() && audience != rules_.agent && frame_->mailbox.empty()) {
    return refuse(Outcome::term, "wrong-audience",
                  "the frame is for '" + audience + "', and this agent is '" + std::string(rules_.agent) + "'");
  }
  if (!known.mark) {
    return {.step = Step::readMark};
  }
  if (!known.inInbox && known.mark->admission == Admission::duplicate) {
    return {.step = Step::compareWaiting};
  }
  if (!known.inInbox && known.mark->admission == Admission::take && frame_->sequence == 0) {
    return {.step = Step::findWaiting};
  }
  return judgeMark(known);
}

Decision RequestAdmission::judgeMark(const Known& known) const {
  const Admission admission = *admissionOf(known);
  switch (admission) {
    case Admission::duplicate:
      return {.step = Step::repeat};
    case Admission::outOfSequence:
      return refuse(Outcome::nack, "out-of-sequence",
                    "accepted " + std::to_string(known.mark->accepted) + " of this session so far");
    case Admission::staleEpoch:
      return refuseCounted(admission, "stale-epoch",
                           "a newer epoch of this store was seen: it was restored from a copy");
    case Admission::numberTaken:
      return refuseCounted(admission, "stale-epoch",
                           "this number was another frame's: the store was restored from a copy");
    case Admission::closedOrigin:
      return refuseCounted(admission, "closed-origin",
                           "another store replaced this one, which was silent so long that its marks were deleted: "
                           "enqueue anew, or have the receiver forget this store");
    case Admission::idConflict:
      return refuseCounted(admission, "id-conflict", "this id came before with another type or other data");
    case Admission::take:
      // The frame accepted last may be of another file with the same name. The sender must see it before it is passed.
      if (frame_->previousSequence < known.mark->accepted && session_->isRepeated) {
        return hold("it follows repeated frames, and not the one that was accepted last");
      }
      return takeNew(known);
  }
  delivery::check(false, "a mark says what a frame is");
  return {};
}

Decision RequestAdmission::takeNew(const Known& known) const {
  // After the duplicate check: a frame that took effect in time stays acknowledged, however late it is repeated.
  if (frame_->expiresAt && *frame_->expiresAt <= known.now) {
    return refuse(Outcome::term, "expired", "the frame's expirytime has passed");
  }
  if (!known.sender) {
    return {.step = Step::checkLimits};
  }
  if (known.sender->reached) {
    return overLimit(*known.sender->reached);
  }
  if (known.hasEndedTransaction) {
    return refuse(Outcome::nack, "handler-error", "the handler failed");
  }
  if (known.isAckEvent) {
    if (!known.isReadable) {
      return {.step = Step::readAckEvent};
    }
    return *known.isReadable
               ? Decision{.step = Step::applyAckEvent}
               : refuse(Outcome::term, "malformed", "data must be {\"results\":[...]} with 1 to 256 results");
  }
  if (rules_.canDefer && !known.isAlwaysDeferred) {
    return {.step = Step::checkType};
  }
  if (known.isAlwaysDeferred.value_or(false) || session_->hasWaiting || known.isBehindWaiting.value_or(false)) {
    return keep(known);
  }
  if (frame_->sequence != 0 && !known.isBehindWaiting) {
    return {.step = Step::findEarlier};
  }
  if (!known.handled) {
    return {.step = Step::callHandler};
  }
  if (*known.handled != Outcome::defer) {
    return {.step = Step::answer};
  }
  return rules_.canDefer
             ? keep(known)
             : refuse(Outcome::nack, "not-now", "this handler cannot defer: the receiver has no deferred handler");
}

void RequestAdmission::end(const Known& known, Step step, Outcome outcome) {
  if (frame_->sequence == 0) {
    return;
  }
  // A deferred frame counts as accepted: the next frame is kept behind it.
  const bool isTaken = outcome == Outcome::ack || outcome == Outcome::defer;
  session_->isStopped = session_->isStopped || !isTaken;
  session_->isRepeated = session_->isRepeated || step == Step::repeat;
  session_->hasWaiting = session_->hasWaiting || step == Step::keep;
  const std::optional<Admission> admission = admissionOf(known);
  const bool isBehind =
      step == Step::refuse && (admission == Admission::outOfSequence || admission == Admission::numberTaken);
  if (step == Step::repeat || isBehind) {
    reach(known.mark->accepted, known.mark->acceptedId);
  } else if (isTaken) {
    reach(frame_->sequence, frame_->id);
  }
}

void RequestAdmission::reach(std::uint64_t accepted, const std::string& acceptedId) {
  if (!session_->place) {
    session_->place = reached_.size();
    reached_.push_back({frame_, accepted, acceptedId});
  } else if (SessionReach& known = reached_[*session_->place]; accepted > known.accepted) {
    known.accepted = accepted;
    known.acceptedId = acceptedId;
  }
}

std::optional<std::chrono::milliseconds> unattendedFor(std::optional<WallTime> awaySince, WallTime now) {
  if (!awaySince) {
    return std::nullopt;
  }
  return std::max(std::chrono::duration_cast<std::chrono::milliseconds>(now - *awaySince),
                  std::chrono::milliseconds(0));
}

}  // namespace ackbox::reception
