#include "serve/api/operations.hpp"

#include <array>

namespace ackbox::serve {
namespace {

constexpr std::size_t kMessagesBytesMax = std::size_t{8} * 1024 * 1024;
constexpr std::size_t kFilterBytesMax = std::size_t{64} * 1024;
constexpr std::size_t kDefinitionBytesMax = std::size_t{16} * 1024;
constexpr std::size_t kSettlementsBytesMax = std::size_t{8} * 1024 * 1024;

constexpr Roles kRead{Role::read};
constexpr Roles kOperate{Role::operate};
constexpr Roles kSend{Role::send};
constexpr Roles kReceive{Role::receive, Role::mailbox};
constexpr Roles kReadOrSend{Role::read, Role::send};
constexpr Roles kAny{};

/// An operation that checks the limits of its caller's token.
constexpr Operation limited(Operation operation) {
  operation.reach = Reach::limited;
  return operation;
}

constexpr std::array kOperations = std::to_array<Operation>({
    limited({"POST", "/v1/messages", kSend, kMessagesBytesMax, enqueue}),
    limited({"GET", "/v1/messages", kRead, 0, listMessages}),
    limited({"GET", "/v1/messages/{id}", kReadOrSend, 0, showMessage}),
    limited({"POST", "/v1/messages:resend", kOperate, kFilterBytesMax, resendMessages}),
    limited({"POST", "/v1/messages:mark-failed", kOperate, kFilterBytesMax, markMessagesFailed}),
    {"GET", "/v1/stats", kRead, 0, showStats},
    limited({"GET", "/v1/peers", kRead, 0, listPeers}),
    limited({"GET", "/v1/peers/{peer}", kRead, 0, showPeer}),
    {"PUT", "/v1/peers/{peer}", kOperate, kDefinitionBytesMax, definePeer},
    {"DELETE", "/v1/peers/{peer}", kOperate, 0, removePeer},
    limited({"GET", "/v1/subscriptions", kRead, 0, listSubscriptions}),
    limited({"GET", "/v1/subscriptions/{name}", kRead, 0, showSubscription}),
    limited({"PUT", "/v1/subscriptions/{name}", kOperate, kFilterBytesMax, subscribe}),
    limited({"DELETE", "/v1/subscriptions/{name}", kOperate, 0, unsubscribe}),
    limited({"GET", "/v1/sessions", kRead, 0, listSessions}),
    {"GET", "/v1/inbox", kRead, 0, listInbox},
    {"GET", "/v1/inbox/stream", kReceive, 0, nullptr, streamInbox},
    {"POST", "/v1/inbox/take", kReceive, 0, takeInbox, nullptr, false, Opening::never, true},
    {"POST", "/v1/inbox/settle", kReceive, kSettlementsBytesMax, settleInbox},
    {"POST", "/v1/inbox:retry", kOperate, kFilterBytesMax, retryInbox},
    {"POST", "/v1/inbox:discard", kOperate, kFilterBytesMax, discardInbox},
    limited({"GET", "/v1/dead-letters", kRead, 0, listDeadLetters}),
    limited({"POST", "/v1/dead-letters:retry", kOperate, kFilterBytesMax, retryDeadLetters}),
    limited({"POST", "/v1/dead-letters:discard", kOperate, kFilterBytesMax, discardDeadLetters}),
    limited({"GET", "/v1/operations/{id}", kOperate, 0, showBulkChange}),
    limited({"POST", "/v1/peers/{peer}:pause", kOperate, 0, pausePeer}),
    limited({"POST", "/v1/peers/{peer}:resume", kOperate, 0, resumePeer}),
    limited({"POST", "/v1/sessions/{peer}/{session}:pause", kOperate, 0, pauseSession}),
    limited({"POST", "/v1/sessions/{peer}/{session}:resume", kOperate, 0, resumeSession}),
    limited({"POST", "/v1/sessions/{peer}/{session}:unblock", kOperate, 0, unblockSession}),
    {"GET", "/v1/events", kRead, 0, nullptr, streamEvents},
    {"GET", "/openapi.json", kAny, 0, showDescription, nullptr, false, Opening::always, false, Reach::none},
    {"GET", "/healthz", kAny, 0, isAlive, nullptr, false, Opening::health, false, Reach::none},
    {"GET", "/readyz", kAny, 0, isReady, nullptr, false, Opening::health, false, Reach::none},
    {"GET", "/metrics", kRead, 0, showMetrics, nullptr, false, Opening::metrics},
});

}  // namespace

std::span<const Operation> operations() {
  return kOperations;
}

}  // namespace ackbox::serve
