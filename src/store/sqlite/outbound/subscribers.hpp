#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ackbox/frame.hpp"
#include "delivery/types.hpp"
#include "sqlite/statement.hpp"
#include "store/sqlite/sqlite_names.hpp"

namespace ackbox::store::sqlite {

/// A peer that a published frame goes to.
struct Subscriber {
  delivery::PeerKey peer = 0;
  std::string name;
};

/// The subscriptions of a file, as of one transaction.
class SubscriptionList {
public:
  /// Reads them all.
  void read(Statement& select);
  /// The peers that get `frame`, each once however many of its subscriptions fit, in the order of their keys.
  [[nodiscard]] std::vector<Subscriber> subscribersOf(const Frame& frame) const;

private:
  struct One {
    Subscriber subscriber;
    std::string type;
    std::string session;
  };
  // In the order of the peers' keys.
  std::vector<One> all_;
};

/// SQL for `SubscriptionList::read`. A peer that was removed has no subscriptions.
inline constexpr std::string_view kSelectSubscriptions =
    "SELECT p.id,p.name,s.type,s.session FROM #subscriptions AS s JOIN #peers AS p ON p.id=s.peer_id WHERE "
    "p.removed_at_ms=0 ORDER BY p.id";

}  // namespace ackbox::store::sqlite
