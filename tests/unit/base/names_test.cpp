// Goal: the names that logs, the command line and the wire print are the documented ones. Compatibility-sensitive: the
// outcomes travel between agents, the states are read by scripts.
// Method: the whole of each enum, spelled out.

#include <doctest/doctest.h>

#include "ackbox/diagnosis.hpp"
#include "ackbox/events.hpp"
#include "ackbox/inbound_options.hpp"
#include "ackbox/message.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/peer_status.hpp"
#include "ackbox/pull.hpp"
#include "ackbox/receipt.hpp"
#include "ackbox/sender.hpp"

namespace ackbox::names_test {

TEST_CASE("message states are printed in capitals") {
  CHECK(toString(MessageState::pending) == "PENDING");
  CHECK(toString(MessageState::sending) == "SENDING");
  CHECK(toString(MessageState::sent) == "SENT");
  CHECK(toString(MessageState::acked) == "ACKED");
  CHECK(toString(MessageState::failed) == "FAILED");
  CHECK(toString(static_cast<MessageState>(5)) == "UNKNOWN");
}

TEST_CASE("message states are persisted by these numbers") {
  CHECK(static_cast<int>(MessageState::pending) == 0);
  CHECK(static_cast<int>(MessageState::sending) == 1);
  CHECK(static_cast<int>(MessageState::sent) == 2);
  CHECK(static_cast<int>(MessageState::acked) == 3);
  CHECK(static_cast<int>(MessageState::failed) == 4);
}

TEST_CASE("Each kind of reset has a name of its own") {
  CHECK(toString(PeerResetKind::peerLost) == "peer-lost");
  CHECK(toString(PeerResetKind::peerRestored) == "peer-restored");
  CHECK(toString(PeerResetKind::selfRestored) == "self-restored");
  CHECK(toString(static_cast<PeerResetKind>(9)) == "unknown");
}

TEST_CASE("enqueue statuses are printed as they are written in the source") {
  CHECK(toString(EnqueueStatus::stored) == "stored");
  CHECK(toString(EnqueueStatus::duplicate) == "duplicate");
  CHECK(toString(EnqueueStatus::queueFull) == "queueFull");
  CHECK(toString(EnqueueStatus::frameTooLarge) == "frameTooLarge");
  CHECK(toString(EnqueueStatus::invalidFrame) == "invalidFrame");
  CHECK(toString(EnqueueStatus::unknownPeer) == "unknownPeer");
}

TEST_CASE("settle statuses are printed as they are written in the source") {
  CHECK(toString(SettleStatus::settled) == "settled");
  CHECK(toString(SettleStatus::late) == "late");
}

TEST_CASE("outcomes have the names of the wire protocol") {
  CHECK(toString(Outcome::ack) == "ack");
  CHECK(toString(Outcome::defer) == "defer");
  CHECK(toString(Outcome::nack) == "nack");
  CHECK(toString(Outcome::term) == "term");
}

TEST_CASE("block reasons are printed as they are written in the source") {
  CHECK(toString(BlockReason::acknowledged) == "acknowledged");
  CHECK(toString(BlockReason::deadLetter) == "deadLetter");
  CHECK(toString(BlockReason::awaitsAck) == "awaitsAck");
  CHECK(toString(BlockReason::inFlight) == "inFlight");
  CHECK(toString(BlockReason::ownerDead) == "ownerDead");
  CHECK(toString(BlockReason::expired) == "expired");
  CHECK(toString(BlockReason::pastHorizon) == "pastHorizon");
  CHECK(toString(BlockReason::behind) == "behind");
  CHECK(toString(BlockReason::sessionInFlight) == "sessionInFlight");
  CHECK(toString(BlockReason::backoff) == "backoff");
  CHECK(toString(BlockReason::peerDown) == "peerDown");
  CHECK(toString(BlockReason::peerNotConfigured) == "peerNotConfigured");
  CHECK(toString(BlockReason::notRunning) == "notRunning");
  CHECK(toString(BlockReason::sessionBlocked) == "sessionBlocked");
  CHECK(toString(BlockReason::sessionPaused) == "sessionPaused");
  CHECK(toString(BlockReason::peerPaused) == "peerPaused");
  CHECK(toString(BlockReason::peerHeld) == "peerHeld");
  CHECK(toString(BlockReason::peerDisabled) == "peerDisabled");
  CHECK(toString(BlockReason::rateLimited) == "rateLimited");
  CHECK(toString(BlockReason::notBefore) == "notBefore");
  CHECK(toString(BlockReason::running) == "running");
  CHECK(toString(BlockReason::noDeferredHandler) == "noDeferredHandler");
  CHECK(toString(BlockReason::handled) == "handled");
  CHECK(toString(BlockReason::refused) == "refused");
  CHECK(toString(BlockReason::ackEventsWait) == "ackEventsWait");
  CHECK(toString(BlockReason::senderIsNoPeer) == "senderIsNoPeer");
  CHECK(toString(BlockReason::applicationAway) == "applicationAway");
  CHECK(toString(BlockReason::peerUnattended) == "peerUnattended");
}

TEST_CASE("reasons of refused requests have the names that the log prints") {
  CHECK(toString(RefusalReason::notSigned) == "not-signed");
  CHECK(toString(RefusalReason::malformed) == "malformed-signature");
  CHECK(toString(RefusalReason::clockApart) == "clock-apart");
  CHECK(toString(RefusalReason::unknownAgent) == "unknown-agent");
  CHECK(toString(RefusalReason::wrongKey) == "wrong-key");
  CHECK(toString(RefusalReason::notAllowed) == "not-allowed");
}

TEST_CASE("limits are printed as they are written in the source: they are codes on the wire") {
  CHECK(toString(InboundLimit::sessions) == "sessions");
  CHECK(toString(InboundLimit::origins) == "origins");
  CHECK(toString(InboundLimit::marks) == "marks");
  CHECK(toString(InboundLimit::bytes) == "bytes");
  CHECK(toString(InboundLimit::totalBytes) == "totalBytes");
  CHECK(toString(InboundLimit::inbox) == "inbox");
}

TEST_CASE("request outcomes are printed as they are written in the source") {
  CHECK(toString(RequestOutcome::answered) == "answered");
  CHECK(toString(RequestOutcome::peerUnavailable) == "peerUnavailable");
  CHECK(toString(RequestOutcome::connectionLost) == "connectionLost");
  CHECK(toString(RequestOutcome::peerRefused) == "peerRefused");
  CHECK(toString(RequestOutcome::requestRejected) == "requestRejected");
  CHECK(toString(RequestOutcome::cancelled) == "cancelled");
  CHECK(toString(RequestOutcome::peerGone) == "peerGone");
  CHECK(toString(RequestOutcome::notSent) == "notSent");
}

TEST_CASE("peer states are printed as they are written in the source") {
  CHECK(toString(PeerState::up) == "up");
  CHECK(toString(PeerState::down) == "down");
  CHECK(toString(PeerState::held) == "held");
  CHECK(toString(PeerState::disabled) == "disabled");
  CHECK(toString(PeerState::paused) == "paused");
}

}  // namespace ackbox::names_test
