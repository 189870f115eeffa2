// The members of OutboxManager by which people stop sessions and peers and let them go on, and see where they stand.

#include <algorithm>
#include <utility>

#include "ackbox/peer_status.hpp"
#include "manager/facade/core.hpp"
#include "manager/facade/jobs.hpp"
#include "store/store.hpp"

namespace ackbox {
namespace {

template <typename Change>
bool commitHold(manager::Core& core, Change change) {
  return manager::commitBlocking(core.writer(), true, [&](store::Store& store) { return change(store.holds()); });
}

}  // namespace

bool OutboxManager::pause(std::string_view peer) {
  return commitHold(*core_, [&](store::Holds& holds) { return holds.pausePeer(peer); });
}

bool OutboxManager::pause(std::string_view peer, std::string_view session) {
  return commitHold(*core_, [&](store::Holds& holds) { return holds.pauseSession(peer, session); });
}

bool OutboxManager::resume(std::string_view peer) {
  return commitHold(*core_, [&](store::Holds& holds) { return holds.resumePeer(peer); });
}

bool OutboxManager::resume(std::string_view peer, std::string_view session) {
  return commitHold(*core_, [&](store::Holds& holds) { return holds.resumeSession(peer, session); });
}

bool OutboxManager::unblock(std::string_view peer, std::string_view session) {
  return commitHold(*core_, [&](store::Holds& holds) { return holds.unblock(peer, session); });
}

std::vector<BlockedSession> OutboxManager::blockedSessions(std::size_t limit) const {
  return core_->reader().blockedSessions(limit);
}

std::vector<PeerStatus> OutboxManager::peers() const {
  const std::vector<PeerOptions>& configured = core_->options().peers;
  std::vector<PeerStatus> statuses;
  for (store::KeyedStatus& peer : core_->reader().peers()) {
    const manager::PeerBoard::Gauges gauges = core_->peerBoard().read(peer.key);
    PeerStatus status = std::move(peer.status);
    status.isConfigured = std::any_of(configured.begin(), configured.end(),
                                      [&](const PeerOptions& known) { return known.name == status.name; });
    status.requestsInFlight = gauges.requestsInFlight;
    status.readySessions = gauges.readySessions;
    status.rateLimitedUntil = gauges.pausedUntil;
    statuses.push_back(std::move(status));
  }
  return statuses;
}

}  // namespace ackbox
