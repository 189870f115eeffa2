#pragma once

#include <doctest/doctest.h>

#include "store_conformance/world.hpp"

namespace ackbox::testing {

/// A message in flight, as it goes from state to state.
struct ClaimedRow {
  explicit ClaimedRow(const World& world) : store(world.open()), reader(world.reader()) {
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

  std::unique_ptr<store::Store> store;
  std::unique_ptr<const store::Reader> reader;
  std::string id;
  store::ClaimReply reply;
  delivery::Settlement settlement;
};

}  // namespace ackbox::testing
