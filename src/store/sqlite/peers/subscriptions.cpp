#include "store/sqlite/peers/subscriptions.hpp"

#include "store/decisions/store_limits.hpp"

namespace ackbox::store::sqlite {

Subscriptions::Subscriptions(Context& context, Holds& holds)
    : context_(context),
      holds_(holds),
      put_(
          context.prepare("REPLACE INTO #subscriptions(name,peer_id,type,session,since_at_ms) VALUES(?1,?2,?3,?4,?5)")),
      exists_(context.prepare("SELECT 1 FROM #subscriptions WHERE name=?1")),
      count_(context.prepare("SELECT count(*) FROM #subscriptions")),
      remove_(context.prepare("DELETE FROM #subscriptions WHERE name=?1")),
      removeOfRemoved_(context.prepare(
          "DELETE FROM #subscriptions WHERE peer_id NOT IN (SELECT id FROM #peers WHERE removed_at_ms=0)")),
      select_(context.prepare(kSelectSubscriptions)) {}

std::optional<bool> Subscriptions::put(const PeerSubscription& subscription) {
  const delivery::PeerKey peer = holds_.peerOf(subscription.peer);
  const bool isNew = !Query(exists_, subscription.name).next();
  if (isNew) {
    Query query(count_);
    query.next();
    if (query.as<std::size_t>(0) >= kSubscriptionsMax) {
      return std::nullopt;
    }
  }
  Query(put_, subscription.name, peer, subscription.type, subscription.session, context_.clock.wallNow()).run();
  changed();
  return isNew;
}

bool Subscriptions::remove(std::string_view name) {
  const bool isRemoved = Query(remove_, name).run() != 0;
  if (isRemoved) {
    changed();
  }
  return isRemoved;
}

std::size_t Subscriptions::removeOfRemoved() {
  const std::size_t removed = Query(removeOfRemoved_).run();
  if (removed != 0) {
    changed();
  }
  return removed;
}

std::vector<Subscriber> Subscriptions::subscribersOf(const Frame& frame) {
  if (orders_ != context_.orders) {
    list_.read(select_);
    orders_ = context_.orders;
  }
  return list_.subscribersOf(frame);
}

void Subscriptions::changed() {
  holds_.countChange();
  forget();
}

}  // namespace ackbox::store::sqlite
