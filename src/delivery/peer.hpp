#pragma once

#include <cstdint>

#include "delivery/peer_health.hpp"
#include "delivery/ready_queue.hpp"
#include "delivery/suspects.hpp"

namespace ackbox::delivery {

/// A remote agent: its health, its limits, and its sessions that could be sent now.
struct Peer {
  PeerKey key = 0;
  /// 0 until the peer is configured: its sessions stay parked.
  std::uint32_t maxRequests = 0;

  ReadyQueue ready;
  /// The same for sessions whose head is a suspect, which goes alone.
  ReadyQueue suspectReady;
  Suspects suspects;
  /// Ordinary requests begun since the last suspect's: the two kinds take turns, so that neither starves.
  std::uint32_t ordinarySinceSuspect = 0;

  std::uint32_t requestsInFlight = 0;
  /// The probe of a peer that is down is under way.
  RequestId probe = 0;
  /// A suspect is under way; nothing may join it.
  RequestId exclusive = 0;
  /// The request that has had the peer to itself since it began.
  RequestId alone = 0;

  PeerHealth health;
  /// No claims before it.
  SteadyTime pausedUntil{};
  /// Frames in a request, lowered when one is rejected as a whole.
  std::uint32_t frameLimit = 0;
  /// What the peer said it takes; 0: it did not say.
  std::uint32_t creditFrames = 0;
  std::uint64_t creditBytes = 0;
  /// In the list of peers to look at before the event ends.
  bool dirty = false;
};

}  // namespace ackbox::delivery
