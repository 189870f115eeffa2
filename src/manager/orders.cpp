// The members of OutboxManager by which people stop sessions and peers and let them go on, and see where they stand.

#include <algorithm>
#include <utility>

#include "ackbox/peer_status.hpp"
#include "manager/core.hpp"
#include "manager/jobs.hpp"
#include "store/orders.hpp"

namespace ackbox {
namespace {

template <typename Order>
bool give(manager::Core& core, Order order) {
  return manager::commitBlocking(core.writer(), true, [&](store::Store& store) { return order(store.orders()); });
}

}  // namespace

bool OutboxManager::pause(std::string_view peer) {
  return give(*core_, [&](store::Orders& orders) { return orders.pausePeer(peer); });
}

bool OutboxManager::pause(std::string_view peer, std::string_view session) {
  return give(*core_, [&](store::Orders& orders) { return orders.pauseSession(peer, session); });
}

bool OutboxManager::resume(std::string_view peer) {
  return give(*core_, [&](store::Orders& orders) { return orders.resumePeer(peer); });
}

bool OutboxManager::resume(std::string_view peer, std::string_view session) {
  return give(*core_, [&](store::Orders& orders) { return orders.resumeSession(peer, session); });
}

bool OutboxManager::unblock(std::string_view peer, std::string_view session) {
  return give(*core_, [&](store::Orders& orders) { return orders.unblock(peer, session); });
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
