#pragma once

#include <doctest/doctest.h>

#include <string>
#include <utility>

#include "store_conformance/world.hpp"

namespace ackbox::testing {

/// A message in flight, as it goes from state to state.
template <typename AnyWorld>
struct ClaimedRowOf {
  explicit ClaimedRowOf(const AnyWorld& world) : store(world.open()), reader(world.reader()) {
    id = enqueueOne(*store, frameOf("s", "{}")).messageId;
    reply = claimNew(*store);
    settlement = settlementOf(reply, delivery::Transition::release);
  }

  // From `sending`, where every row here begins.
  void bringTo(MessageState state) {
    if (state == MessageState::pending) {
      apply(delivery::Transition::release);
    } else if (state == MessageState::sent) {
      apply(delivery::Transition::defer);
    } else if (state == MessageState::failed) {
      apply(delivery::Transition::fail);
    }
    settlement.from = state;
  }
  bool apply(delivery::Transition transition) {
    settlement.transition = transition;
    return settleOne(*store, settlement).has_value();
  }
  /// Ends the claim with what `failed` says, and claims the row again.
  void failAndClaim(delivery::Settlement failed) {
    failed.key = settlement.key;
    failed.session = settlement.session;
    failed.attempt = settlement.attempt;
    REQUIRE(settleOne(*store, failed));
    claimAgain();
  }
  /// Gives the session back, and claims the row again.
  void claimAgain() {
    const delivery::SessionRelease released{.session = settlement.session, .dueAt = {}, .previousSequence = {}};
    inTransaction(*store, [&] { store->claims().endClaims({&released, 1}); });
    reply = claimOf(*store, delivery::SessionClaim{settlement.session, {settlement.key}});
    REQUIRE(reply.messages.size() == 1);
    settlement = settlementOf(reply, delivery::Transition::release);
  }
  [[nodiscard]] std::optional<MessageInfo> now() const { return reader->find(id); }
  [[nodiscard]] Stats stats() const { return reader->stats(); }

  decltype(std::declval<const AnyWorld&>().open()) store;
  decltype(std::declval<const AnyWorld&>().reader()) reader;
  std::string id;
  store::ClaimReply reply;
  delivery::Settlement settlement;
};

using ClaimedRow = ClaimedRowOf<World>;

inline delivery::Settlement failure(std::string error,
                                    delivery::Transition transition = delivery::Transition::release) {
  delivery::Settlement settlement;
  settlement.transition = transition;
  settlement.error = std::move(error);
  return settlement;
}

}  // namespace ackbox::testing
