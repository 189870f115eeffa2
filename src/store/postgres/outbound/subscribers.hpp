#pragma once

#include <string>
#include <vector>

#include "ackbox/frame.hpp"
#include "delivery/types.hpp"
#include "postgres/connection.hpp"
#include "store/postgres/names.hpp"

namespace ackbox::store::postgres {

/// A peer that a published frame goes to.
struct Subscriber {
  delivery::PeerKey peer = 0;
  std::string name;
};

/// The peers that get `frame`, each once however many of its subscriptions fit, in the order of their keys.
[[nodiscard]] std::vector<Subscriber> subscribersOf(Connection& connection, const Frame& frame);

}  // namespace ackbox::store::postgres
