#pragma once

#include <doctest/doctest.h>

#include "store_conformance/world.hpp"

namespace ackbox::testing {

/// A store that keeps what is acknowledged, and a peer that may forget it.
struct Kept : World {
  explicit Kept(PeerResetPolicy policy = PeerResetPolicy::resend) {
    options.peerReset = policy;
    options.ackedRetention = std::chrono::hours(1);
  }

  /// Enqueues, claims and acknowledges; returns the session.
  static delivery::SessionKey deliver(store::Store& store, const Frame& frame) {
    enqueueOne(store, frame);
    const auto reply = claimNew(store);
    const auto acked = settlementOf(reply, delivery::Transition::ack);
    settleOne(store, acked);
    const delivery::SessionRelease release{
        .session = acked.session, .dueAt = {}, .previousSequence = reply.sessions[0].rows[0].sequence};
    inTransaction(store, [&] { store.claims().endClaims({&release, 1}); });
    return acked.session;
  }
  static std::optional<PeerResetEvent> hear(store::Store& store, PeerResetKind kind, const std::string& peerStore,
                                            delivery::SessionKey session = 0, std::uint64_t accepted = 0,
                                            std::uint64_t epoch = 1, bool isFresh = false) {
    delivery::PeerIdentity identity;
    identity.peer = store.peers().rows().front().key;
    identity.found = kind;
    identity.store = peerStore;
    identity.storeEpoch = epoch;
    identity.session = session;
    identity.expected = 9;
    identity.accepted = accepted;
    identity.isFresh = isFresh;
    return inTransaction(store, [&] { return store.peerResets().recordIdentity(identity); });
  }
  static void meet(store::Store& store, const std::string& peerStore) {
    delivery::PeerIdentity identity;
    identity.peer = store.peers().rows().front().key;
    identity.store = peerStore;
    identity.storeEpoch = 1;
    CHECK_FALSE(inTransaction(store, [&] { return store.peerResets().recordIdentity(identity); }));
  }
  static store::ClaimReply claim(store::Store& store, delivery::SessionKey session,
                                 std::vector<delivery::MessageKey> keys) {
    return claimOf(store, delivery::SessionClaim{session, std::move(keys)});
  }
};

}  // namespace ackbox::testing
