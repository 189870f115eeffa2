#include "store/sqlite/outbound/subscribers.hpp"

#include "base/pattern.hpp"

namespace ackbox::store::sqlite {

void SubscriptionList::read(Statement& select) {
  all_.clear();
  for (Query query(select); query.next();) {
    all_.push_back({{query.integer(0), query.text(1)}, query.text(2), query.text(3)});
  }
}

std::vector<Subscriber> SubscriptionList::subscribersOf(const Frame& frame) const {
  std::vector<Subscriber> found;
  for (const One& one : all_) {
    const bool isFound = !found.empty() && found.back().peer == one.subscriber.peer;
    if (!isFound && fitsPattern(one.type, frame.type) &&
        (one.session.empty() || fitsPattern(one.session, frame.session))) {
      found.push_back(one.subscriber);
    }
  }
  return found;
}

}  // namespace ackbox::store::sqlite
