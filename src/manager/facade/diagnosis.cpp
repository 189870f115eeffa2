#include "manager/facade/diagnosis.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "manager/facade/core.hpp"
#include "manager/facade/sentence.hpp"

namespace ackbox {

std::vector<PeerStatus> manager::peers(Core& core) {
  std::vector<PeerStatus> statuses;
  for (store::KeyedStatus& peer : core.reader().peers()) {
    const PeerBoard::Gauges gauges = core.peerBoard().read(peer.key);
    PeerStatus status = std::move(peer.status);
    status.isConfigured = core.peer(status.name).options != nullptr;
    status.requestsInFlight = gauges.requestsInFlight;
    status.readySessions = gauges.readySessions;
    status.rateLimitedUntil = gauges.limitedUntil;
    status.rateLimited = std::chrono::duration_cast<std::chrono::milliseconds>(gauges.rateLimited);
    statuses.push_back(std::move(status));
  }
  return statuses;
}

std::optional<Explanation> manager::explain(Core& core, std::string_view messageId) {
  std::optional<Explanation> explanation = core.reader().explain(messageId);
  if (!explanation) {
    return std::nullopt;
  }
  const WallTime now = core.clock().wallNow();
  if (explanation->message.state == MessageState::pending) {
    if (!core.running()) {
      explanation->reasons.push_back({.blockReason = BlockReason::notRunning, .detail = {}});
    }
    for (const PeerStatus& peer : peers(core)) {
      if (peer.name == explanation->message.peer && peer.rateLimitedUntil > now) {
        explanation->reasons.push_back(
            {.blockReason = BlockReason::rateLimited, .until = peer.rateLimitedUntil, .detail = {}});
      }
    }
  }
  explanation->sentence =
      sentenceOf(*explanation, {.text = "no run is under way in this process", .othersMayRun = true}, now);
  return explanation;
}

}  // namespace ackbox
