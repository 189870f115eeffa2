#include <string_view>

#include "ackbox/diagnosis.hpp"
#include "ackbox/events.hpp"
#include "ackbox/health.hpp"
#include "ackbox/inbound_handler.hpp"
#include "ackbox/message.hpp"
#include "ackbox/peer_status.hpp"
#include "ackbox/pull.hpp"
#include "ackbox/receipt.hpp"
#include "ackbox/sender.hpp"

namespace ackbox {

std::string_view toString(MessageState state) noexcept {
  switch (state) {
    case MessageState::pending:
      return "PENDING";
    case MessageState::sending:
      return "SENDING";
    case MessageState::sent:
      return "SENT";
    case MessageState::acked:
      return "ACKED";
    case MessageState::failed:
      return "FAILED";
  }
  return "UNKNOWN";
}

std::string_view toString(EnqueueStatus status) noexcept {
  switch (status) {
    case EnqueueStatus::stored:
      return "stored";
    case EnqueueStatus::duplicate:
      return "duplicate";
    case EnqueueStatus::queueFull:
      return "queueFull";
    case EnqueueStatus::frameTooLarge:
      return "frameTooLarge";
    case EnqueueStatus::invalidFrame:
      return "invalidFrame";
    case EnqueueStatus::unknownPeer:
      return "unknownPeer";
  }
  return "unknown";
}

std::string_view toString(PeerResetKind kind) noexcept {
  switch (kind) {
    case PeerResetKind::peerLost:
      return "peer-lost";
    case PeerResetKind::peerRestored:
      return "peer-restored";
    case PeerResetKind::selfRestored:
      return "self-restored";
  }
  return "unknown";
}

std::string_view toString(SettleStatus status) noexcept {
  switch (status) {
    case SettleStatus::settled:
      return "settled";
    case SettleStatus::late:
      return "late";
  }
  return "unknown";
}

std::string_view toString(Outcome outcome) noexcept {
  switch (outcome) {
    case Outcome::ack:
      return "ack";
    case Outcome::defer:
      return "defer";
    case Outcome::nack:
      return "nack";
    case Outcome::term:
      return "term";
  }
  return "unknown";
}

std::string_view toString(Hindrance hindrance) noexcept {
  switch (hindrance) {
    case Hindrance::acknowledged:
      return "acknowledged";
    case Hindrance::deadLetter:
      return "deadLetter";
    case Hindrance::awaitsAck:
      return "awaitsAck";
    case Hindrance::inFlight:
      return "inFlight";
    case Hindrance::ownerDead:
      return "ownerDead";
    case Hindrance::expired:
      return "expired";
    case Hindrance::pastHorizon:
      return "pastHorizon";
    case Hindrance::notBefore:
      return "notBefore";
    case Hindrance::behind:
      return "behind";
    case Hindrance::sessionInFlight:
      return "sessionInFlight";
    case Hindrance::backoff:
      return "backoff";
    case Hindrance::peerDown:
      return "peerDown";
    case Hindrance::peerNotConfigured:
      return "peerNotConfigured";
    case Hindrance::notRunning:
      return "notRunning";
    case Hindrance::sessionBlocked:
      return "sessionBlocked";
    case Hindrance::sessionPaused:
      return "sessionPaused";
    case Hindrance::peerPaused:
      return "peerPaused";
    case Hindrance::peerHeld:
      return "peerHeld";
    case Hindrance::peerDisabled:
      return "peerDisabled";
    case Hindrance::rateLimited:
      return "rateLimited";
  }
  return "unknown";
}

std::string_view toString(InboundLimit limit) noexcept {
  switch (limit) {
    case InboundLimit::sessions:
      return "sessions";
    case InboundLimit::origins:
      return "origins";
    case InboundLimit::marks:
      return "marks";
    case InboundLimit::bytes:
      return "bytes";
    case InboundLimit::totalBytes:
      return "totalBytes";
    case InboundLimit::inbox:
      return "inbox";
  }
  return "unknown";
}

std::string_view toString(HealthCheck check) noexcept {
  switch (check) {
    case HealthCheck::failed:
      return "failed";
    case HealthCheck::pending:
      return "pending";
    case HealthCheck::oldestAge:
      return "oldestAge";
    case HealthCheck::process:
      return "process";
    case HealthCheck::peerDown:
      return "peerDown";
  }
  return "unknown";
}

std::string_view toString(RequestOutcome outcome) noexcept {
  switch (outcome) {
    case RequestOutcome::answered:
      return "answered";
    case RequestOutcome::peerUnavailable:
      return "peerUnavailable";
    case RequestOutcome::connectionLost:
      return "connectionLost";
    case RequestOutcome::peerRefused:
      return "peerRefused";
    case RequestOutcome::requestRejected:
      return "requestRejected";
    case RequestOutcome::cancelled:
      return "cancelled";
    case RequestOutcome::notSent:
      return "notSent";
    case RequestOutcome::peerGone:
      return "peerGone";
  }
  return "unknown";
}

std::string_view toString(PeerState state) noexcept {
  switch (state) {
    case PeerState::up:
      return "up";
    case PeerState::down:
      return "down";
    case PeerState::held:
      return "held";
    case PeerState::disabled:
      return "disabled";
    case PeerState::paused:
      return "paused";
  }
  return "unknown";
}

}  // namespace ackbox
