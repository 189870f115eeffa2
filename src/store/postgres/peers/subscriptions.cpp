#include "store/postgres/peers/subscriptions.hpp"

#include "store/decisions/store_limits.hpp"

namespace ackbox::store::postgres {
std::optional<bool> Subscriptions::put(const PeerSubscription& subscription) {
  const delivery::PeerKey peer = holds_.peerOf(subscription.peer);
  // Counted first, so that subscriptions change one after the other.
  holds_.countChange();
  const bool isNew = context_.connection.run("SELECT 1 FROM #subscriptions WHERE name=$1", subscription.name).empty();
  if (isNew &&
      context_.connection.run("SELECT count(*) FROM #subscriptions").front().as<std::size_t>(0) >= kSubscriptionsMax) {
    return std::nullopt;
  }
  context_.connection.run(
      "INSERT INTO #subscriptions(name,peer_id,type,session,since_at_ms) VALUES($1,$2,$3,$4,$5) ON CONFLICT(name) DO "
      "UPDATE SET peer_id=$2, type=$3, session=$4, since_at_ms=$5",
      subscription.name, peer, subscription.type, subscription.session, context_.now());
  return isNew;
}

bool Subscriptions::remove(std::string_view name) {
  const bool isRemoved = context_.connection.run("DELETE FROM #subscriptions WHERE name=$1", name).changed() != 0;
  if (isRemoved) {
    holds_.countChange();
  }
  return isRemoved;
}

std::size_t Subscriptions::removeOfRemoved() {
  const std::size_t removed =
      context_.connection
          .run("DELETE FROM #subscriptions WHERE peer_id NOT IN (SELECT id FROM #peers WHERE removed_at_ms=0)")
          .changed();
  if (removed != 0) {
    holds_.countChange();
  }
  return removed;
}

}  // namespace ackbox::store::postgres
