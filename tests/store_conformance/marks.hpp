#pragma once

#include <chrono>
#include <string_view>

#include "store_conformance/messages.hpp"

// Inbound frames by what identifies them, on any store.

namespace ackbox::testing {

inline constexpr std::chrono::milliseconds kMarkRetention = std::chrono::hours(24 * 7);
inline constexpr store::MarkLife kMarkLife{kMarkRetention, 10 * kMarkRetention};

inline store::InboundIdentity numbered(std::uint64_t sequence, std::uint64_t previous, std::uint64_t epoch = 1) {
  store::InboundIdentity identity;
  identity.source = "urn:peer";
  identity.id = "id";
  identity.origin = "origin";
  identity.session = "s";
  identity.epoch = epoch;
  identity.sequence = sequence;
  identity.previousSequence = previous;
  return identity;
}

inline store::InboundIdentity loose(std::string_view id) {
  store::InboundIdentity identity;
  identity.source = "urn:peer";
  identity.id = id;
  return identity;
}

/// Marks it as processed where it is admitted.
inline store::AdmissionReply offer(store::Store& store, const store::InboundIdentity& identity,
                                   const store::MarkLife& life = kMarkLife) {
  return inTransaction(store, [&] {
    const auto reply = store.inboundMarks().admit(identity);
    if (reply.admission == store::Admission::take) {
      store.inboundMarks().markProcessed(identity, reply.gap, life);
    } else if (reply.admission == store::Admission::duplicate) {
      store.inboundMarks().countDuplicate();
    }
    return reply;
  });
}

inline constexpr std::chrono::milliseconds kDay = std::chrono::hours(24);
inline constexpr store::MarkLife kClosingLife{kMarkRetention, 10 * kMarkRetention, 180 * kDay};

/// A frame of a session of `origin`.
inline store::Admission speak(store::Store& store, std::string_view origin, std::uint64_t sequence,
                              std::string_view session = "s") {
  store::InboundIdentity identity = numbered(sequence, sequence - 1);
  identity.origin = origin;
  identity.session = session;
  return offer(store, identity, kClosingLife).admission;
}

}  // namespace ackbox::testing
