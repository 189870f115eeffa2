#include "delivery/transition.hpp"

namespace ackbox::delivery {
namespace {

// One number per pair, so that the whole table is one switch.
constexpr unsigned pair(MessageState from, Transition transition) noexcept {
  return static_cast<unsigned>(from) * 16U + static_cast<unsigned>(transition);
}

}  // namespace

Next next(MessageState from, Transition transition) noexcept {
  using enum MessageState;
  switch (pair(from, transition)) {
    case pair(pending, Transition::claim):
      return Next::sending;
    // The late ACK event of an earlier attempt.
    case pair(pending, Transition::ack):
      return Next::acked;
    case pair(pending, Transition::fail):
      return Next::failed;

    case pair(sending, Transition::ack):
      return Next::acked;
    case pair(sending, Transition::defer):
      return Next::sent;
    case pair(sending, Transition::retry):
      return Next::pending;
    case pair(sending, Transition::release):
      return Next::pending;
    case pair(sending, Transition::fail):
      return Next::failed;

    case pair(sent, Transition::ack):
      return Next::acked;
    // The peer asks for it again.
    case pair(sent, Transition::retry):
      return Next::pending;
    // The ACK deadline has passed: the peer is asked again.
    case pair(sent, Transition::release):
      return Next::pending;
    case pair(sent, Transition::fail):
      return Next::failed;

    // Only a retained row can be sent again.
    case pair(acked, Transition::resend):
      return Next::pending;
    case pair(acked, Transition::repeat):
      return Next::pending;

    case pair(failed, Transition::redrive):
      return Next::pending;
    case pair(failed, Transition::discard):
      return Next::gone;

    default:
      return Next::illegal;
  }
}

std::string_view toString(Transition transition) noexcept {
  switch (transition) {
    case Transition::claim:
      return "claim";
    case Transition::ack:
      return "ack";
    case Transition::defer:
      return "defer";
    case Transition::retry:
      return "retry";
    case Transition::release:
      return "release";
    case Transition::fail:
      return "fail";
    case Transition::redrive:
      return "redrive";
    case Transition::discard:
      return "discard";
    case Transition::resend:
      return "resend";
    case Transition::repeat:
      return "repeat";
  }
  return "unknown";
}

}  // namespace ackbox::delivery
