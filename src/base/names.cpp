#include <algorithm>
#include <iterator>
#include <string_view>

#include "ackbox/claim.hpp"
#include "ackbox/diagnosis.hpp"
#include "ackbox/events.hpp"
#include "ackbox/health.hpp"
#include "ackbox/inbound_options.hpp"
#include "ackbox/inbox.hpp"
#include "ackbox/log.hpp"
#include "ackbox/message.hpp"
#include "ackbox/peer_status.hpp"
#include "ackbox/publication.hpp"
#include "ackbox/receipt.hpp"
#include "ackbox/sender.hpp"

namespace ackbox {
namespace {

struct BlockReasonName {
  BlockReason reason;
  std::string_view name;
};

constexpr BlockReasonName kBlockReasons[] = {
    {BlockReason::acknowledged, "acknowledged"},
    {BlockReason::deadLetter, "deadLetter"},
    {BlockReason::awaitsAck, "awaitsAck"},
    {BlockReason::inFlight, "inFlight"},
    {BlockReason::ownerDead, "ownerDead"},
    {BlockReason::expired, "expired"},
    {BlockReason::pastHorizon, "pastHorizon"},
    {BlockReason::notBefore, "notBefore"},
    {BlockReason::behind, "behind"},
    {BlockReason::sessionInFlight, "sessionInFlight"},
    {BlockReason::backoff, "backoff"},
    {BlockReason::peerDown, "peerDown"},
    {BlockReason::peerNotConfigured, "peerNotConfigured"},
    {BlockReason::peerRemoved, "peerRemoved"},
    {BlockReason::notRunning, "notRunning"},
    {BlockReason::sessionBlocked, "sessionBlocked"},
    {BlockReason::sessionPaused, "sessionPaused"},
    {BlockReason::peerPaused, "peerPaused"},
    {BlockReason::peerHeld, "peerHeld"},
    {BlockReason::peerDisabled, "peerDisabled"},
    {BlockReason::rateLimited, "rateLimited"},
    {BlockReason::running, "running"},
    {BlockReason::noDeferredHandler, "noDeferredHandler"},
    {BlockReason::handled, "handled"},
    {BlockReason::refused, "refused"},
    {BlockReason::ackEventsWait, "ackEventsWait"},
    {BlockReason::senderIsNoPeer, "senderIsNoPeer"},
    {BlockReason::applicationAway, "applicationAway"},
    {BlockReason::peerUnattended, "peerUnattended"},
};
static_assert(std::size(kBlockReasons) == static_cast<std::size_t>(BlockReason::peerUnattended) + 1);

}  // namespace

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

std::string_view toString(InboxState state) noexcept {
  switch (state) {
    case InboxState::waiting:
      return "WAITING";
    case InboxState::unattended:
      return "UNATTENDED";
    case InboxState::behind:
      return "BEHIND";
    case InboxState::running:
      return "RUNNING";
    case InboxState::backoff:
      return "BACKOFF";
    case InboxState::ended:
      return "ENDED";
  }
  return "UNKNOWN";
}

std::string_view toString(PublishStatus status) noexcept {
  switch (status) {
    case PublishStatus::stored:
      return "stored";
    case PublishStatus::duplicate:
      return "duplicate";
    case PublishStatus::noSubscriber:
      return "noSubscriber";
    case PublishStatus::queueFull:
      return "queueFull";
    case PublishStatus::frameTooLarge:
      return "frameTooLarge";
    case PublishStatus::invalidFrame:
      return "invalidFrame";
  }
  return "unknown";
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

std::string_view toString(BlockReason reason) noexcept {
  const auto* const found = std::ranges::find(kBlockReasons, reason, &BlockReasonName::reason);
  return found == std::end(kBlockReasons) ? "unknown" : found->name;
}

std::string_view toString(RefusalReason reason) noexcept {
  switch (reason) {
    case RefusalReason::notSigned:
      return "not-signed";
    case RefusalReason::malformed:
      return "malformed-signature";
    case RefusalReason::clockApart:
      return "clock-apart";
    case RefusalReason::unknownAgent:
      return "unknown-agent";
    case RefusalReason::wrongKey:
      return "wrong-key";
    case RefusalReason::notAllowed:
      return "not-allowed";
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
    case InboundLimit::mailbox:
      return "mailbox";
    case InboundLimit::inbox:
      return "inbox";
  }
  return "unknown";
}

std::string_view toString(LogLevel level) noexcept {
  switch (level) {
    case LogLevel::debug:
      return "debug";
    case LogLevel::info:
      return "info";
    case LogLevel::warning:
      return "warning";
    case LogLevel::error:
      return "error";
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
