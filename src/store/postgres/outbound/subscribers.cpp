#include "store/postgres/outbound/subscribers.hpp"

#include "base/pattern.hpp"

namespace ackbox::store::postgres {

std::vector<Subscriber> subscribersOf(Connection& connection, const Frame& frame) {
  std::vector<Subscriber> found;
  // A peer that was removed has no subscriptions.
  for (const Row& row : connection.run("SELECT p.id,p.name,s.type,s.session FROM #subscriptions AS s JOIN #peers AS p "
                                       "ON p.id=s.peer_id WHERE p.removed_at_ms=0 ORDER BY p.id")) {
    const bool isFound = !found.empty() && found.back().peer == row.integer(0);
    if (!isFound && fitsPattern(row.view(2), frame.type) &&
        (row.view(3).empty() || fitsPattern(row.view(3), frame.session))) {
      found.push_back({row.integer(0), row.text(1)});
    }
  }
  return found;
}

}  // namespace ackbox::store::postgres
