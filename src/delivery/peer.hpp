#pragma once

#include <cstdint>
#include <limits>
#include <set>
#include <string>

#include "delivery/peer_health.hpp"
#include "delivery/rate_limit.hpp"
#include "delivery/ready_queue.hpp"
#include "delivery/refusals.hpp"
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
  /// The same for sessions whose head was refused and may be so for itself, which goes in a request of its own.
  ReadyQueue refusedReady;
  Refusals refusals;
  /// The same for sessions of which the first message was refused after a long wait: it goes behind what was never
  /// tried.
  ReadyQueue lateReady;
  /// Other requests begun since the last suspect's, since the last one of a refused message, and since the last one of
  /// a late message: the kinds take turns, so that none starves.
  std::uint32_t ordinarySinceSuspect = 0;
  std::uint32_t ordinarySinceRefused = 0;
  std::uint32_t ordinarySinceLate = 0;

  std::uint32_t requestsInFlight = 0;
  /// Those of late messages among them.
  std::uint32_t lateInFlight = 0;
  /// The probe of a peer that is down is under way.
  RequestId probe = 0;
  /// A suspect is under way; nothing may join it.
  RequestId exclusive = 0;
  /// The request that has had the peer to itself since it began.
  RequestId alone = 0;

  PeerHealth health;
  /// There is a timer for a probe with a message that was not refused yet.
  SteadyTime wakesAt{};
  /// Requests at once while it comes back after an outage, doubled by each answer.
  std::uint32_t rampRequests = std::numeric_limits<std::uint32_t>::max();
  /// The file has it as down: an answer changes that.
  bool recordedDown = false;
  /// Someone ordered a pause.
  bool isPaused = false;
  /// Holds have been seen, with this many resumes.
  bool hasOrders = false;
  /// The orders had it as disabled.
  bool sawDisabled = false;
  std::int64_t resumes = 0;
  TokenBucket bucket;
  /// No claims before it: the store refused, or the bucket is empty.
  SteadyTime pausedUntil{};
  /// Frames in a request, lowered when one is rejected as a whole.
  std::uint32_t frameLimit = 0;
  /// What the peer said it takes; 0: it did not say.
  std::uint32_t creditFrames = 0;
  std::uint64_t creditBytes = 0;
  /// Its own store, and how often that was opened, as it reported; empty: it did not.
  std::string store = {};
  std::uint64_t storeEpoch = 0;
  /// Requests up to this one began before its store was known to be another.
  RequestId metAt = 0;
  /// How often this run has reported that it went back to a backup.
  std::uint32_t restores = 0;
  /// Requests up to this one may carry an epoch that another process has outdated meanwhile; 0: none was refused.
  RequestId staleAt = 0;
  /// The newest of the epochs that were refused since.
  std::uint64_t staleEpoch = 0;
  /// Sessions in which it knows another file than this one under this store's name; 0: whatever the session. It stays
  /// held until none is left, whatever it answers in others.
  std::set<SessionKey> disowned = {};
  /// In the list of peers to look at before the event ends.
  bool dirty = false;
  /// In the list of peers whose view may have changed.
  bool isChanged = false;
};

}  // namespace ackbox::delivery
