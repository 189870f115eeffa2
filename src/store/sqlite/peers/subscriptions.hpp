#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "store/sqlite/cache/write_back.hpp"
#include "store/sqlite/context.hpp"
#include "store/sqlite/outbound/subscribers.hpp"
#include "store/sqlite/peers/holds.hpp"
#include "store/store.hpp"

namespace ackbox::store::sqlite {

/// The subscriptions in the file. They are kept in memory until a change by any process, which the count of orders
/// shows.
///
/// All in a transaction. Thread-safety: none.
class Subscriptions final : public store::Subscriptions, public WriteBack {
public:
  Subscriptions(Context& context, Holds& holds);

  std::optional<bool> put(const PeerSubscription& subscription) override;
  bool remove(std::string_view name) override;
  /// Deletes the subscriptions of peers that are removed; returns how many.
  std::size_t removeOfRemoved();
  [[nodiscard]] std::vector<Subscriber> subscribersOf(const Frame& frame);

  /// Other processes' commits are noticed by the count of orders, which is read before.
  void begun(bool /*othersCommitted*/) override {}
  void forget() noexcept override { orders_ = -1; }

private:
  void changed();

  Context& context_;
  Holds& holds_;
  Statement put_;
  Statement exists_;
  Statement count_;
  Statement remove_;
  Statement removeOfRemoved_;
  Statement select_;
  SubscriptionList list_;
  // The orders when `list_` was read; below 0: it is read again.
  std::int64_t orders_ = -1;
};

}  // namespace ackbox::store::sqlite
