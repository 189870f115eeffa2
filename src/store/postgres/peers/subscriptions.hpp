#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "store/postgres/context.hpp"
#include "store/postgres/peers/holds.hpp"
#include "store/store.hpp"

namespace ackbox::store::postgres {

class Subscriptions final : public store::Subscriptions {
public:
  Subscriptions(Context& context, Holds& holds) : context_(context), holds_(holds) {}

  std::optional<bool> put(const PeerSubscription& subscription) override;
  bool remove(std::string_view name) override;
  /// Those of peers that were removed; returns how many.
  std::size_t removeOfRemoved();

private:
  Context& context_;
  Holds& holds_;
};

}  // namespace ackbox::store::postgres
