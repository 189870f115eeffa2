#pragma once

#include <chrono>
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
  /// 0 until the peer is configured: until then its sessions wait.
  std::uint32_t maxRequests = 0;

  ReadyQueue ready;
  /// The same for sessions with a suspect at the head, which is sent alone.
  ReadyQueue suspectReady;
  Suspects suspects;
  /// The same for sessions with a head that was refused and may itself be at fault; it goes in a request of its own.
  ReadyQueue refusedReady;
  Refusals refusals;
  /// The same for sessions with a head that was refused after a long wait; it goes behind messages that were never
  /// tried.
  ReadyQueue lateReady;
  /// Other requests begun since the last request with a suspect, with a refused message and with a late message: the
  /// kinds take turns, so that none starves.
  std::uint32_t ordinarySinceSuspect = 0;
  std::uint32_t ordinarySinceRefused = 0;
  std::uint32_t ordinarySinceLate = 0;

  std::uint32_t requestsInFlight = 0;
  /// Of these, the requests with late messages.
  std::uint32_t lateInFlight = 0;
  /// The probe of a peer that is down is under way.
  RequestId probe = 0;
  /// A suspect is under way; nothing may join it.
  RequestId exclusive = 0;
  /// The request that has been the peer's only one since it began.
  RequestId alone = 0;

  PeerHealth health;
  /// The due time of the timer for a probe with a message that was not refused yet.
  SteadyTime wakesAt{};
  /// The limit of concurrent requests after an outage, doubled by each answer.
  std::uint32_t rampRequests = std::numeric_limits<std::uint32_t>::max();
  /// The file records the peer as down; an answer changes that.
  bool recordedDown = false;
  /// An operator has paused the peer.
  bool isPaused = false;
  /// Holds have been seen; `resumes` is their number of resumes.
  bool hasOrders = false;
  /// The last holds showed it as disabled.
  bool sawDisabled = false;
  std::int64_t resumes = 0;
  TokenBucket bucket;
  /// No claims before it: the store refused.
  SteadyTime pausedUntil{};
  /// No claims before it: the bucket is empty.
  SteadyTime limitedUntil{};
  /// The time for which the empty bucket made ready frames wait.
  std::chrono::nanoseconds rateLimited{0};
  /// The most frames in a request, lowered when a request is rejected as a whole.
  std::uint32_t frameLimit = 0;
  /// How many more messages of a session a claim names than it may take, because other processes deliver some of them:
  /// grows with those that a claim no longer found, and shrinks with those that it found.
  std::uint32_t surplus = 0;
  /// The limits that the peer reported; 0: it did not.
  std::uint32_t creditFrames = 0;
  std::uint64_t creditBytes = 0;
  /// The peer's own store, and how often it was opened, as reported; empty: it was not.
  std::string store = {};
  std::uint64_t storeEpoch = 0;
  /// Requests up to this one began before the change of its store was known.
  RequestId metAt = 0;
  /// How often this run has reported that the peer was restored from a backup.
  std::uint32_t restores = 0;
  /// Requests up to this one may carry an epoch that another process has since outdated; 0: none was refused.
  RequestId staleAt = 0;
  /// The newest epoch refused since.
  std::uint64_t staleEpoch = 0;
  /// Sessions in which the peer knows another file by this store's name; 0: all sessions. The peer stays held until
  /// none is left, whatever it answers in other sessions.
  std::set<SessionKey> disowned = {};
  /// In the list of peers to look at before the event ends.
  bool dirty = false;
  /// In the list of peers with a view that may have changed.
  bool isChanged = false;
};

}  // namespace ackbox::delivery
