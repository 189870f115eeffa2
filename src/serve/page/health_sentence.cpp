#include "serve/page/health_sentence.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <set>

#include "base/hex.hpp"
#include "records/peer.hpp"
#include "records/text.hpp"
#include "records/unattended.hpp"
#include "serve/page/html.hpp"
#include "serve/page/parts.hpp"

namespace ackbox::serve::page {
namespace {

// A longer wait is suspicious even if no peer is known to be down.
constexpr std::chrono::minutes kLongWait{15};
constexpr std::size_t kCauseBytes = 120;
// The rest is counted.
constexpr std::size_t kPeersNamed = 5;

std::string counted(std::uint64_t count, std::string_view noun) {
  return grouped(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

/// ` for 2 d`; empty if the file has no such instant.
std::string duration(WallTime since, WallTime now) {
  return since == WallTime{} || since >= now ? std::string() : " for " + records::durationText(now - since);
}

std::string waitText(std::uint64_t pending, std::string_view cause) {
  const std::string count = pending == 0 ? "nothing" : counted(pending, "message");
  return count + (pending > 1 ? " wait for " : " waits for ") + std::string(cause);
}

/// ` (HTTP 401: …)`, shortened for a sentence; empty if the file has no cause.
std::string causeOf(const PeerStatus& peer) {
  return peer.lastError.empty() ? std::string() : " (" + records::shortened(peer.lastError, kCauseBytes) + ")";
}

bool isAway(const records::PeerFigures& peer) {
  const PeerState state = peer.circuit.state;
  return state == PeerState::down || state == PeerState::held || state == PeerState::disabled;
}

void addAway(std::vector<HealthSentence>& found, const std::vector<records::PeerFigures>& peers, WallTime now) {
  std::vector<const records::PeerFigures*> away;
  for (const records::PeerFigures& peer : peers) {
    if (isAway(peer)) {
      away.push_back(&peer);
    }
  }
  std::ranges::stable_sort(away, std::greater(), [](const auto* peer) { return peer->figures.pending; });
  std::uint64_t waiting = 0;
  for (std::size_t at = 0; at < away.size(); ++at) {
    const records::PeerFigures& peer = *away[at];
    if (at >= kPeersNamed) {
      waiting += peer.figures.pending;
      continue;
    }
    found.push_back({peer.figures.pending == 0 ? "warning" : "problem",
                     "Peer " + peer.figures.peer + " has been " + std::string(toString(peer.circuit.state)) +
                         duration(peer.circuit.since, now) + causeOf(peer.circuit) + ", and " +
                         waitText(peer.figures.pending, "it") + ".",
                     "peers/" + percentEncoded(peer.figures.peer)});
  }
  if (away.size() > kPeersNamed) {
    const std::uint64_t more = away.size() - kPeersNamed;
    found.push_back({waiting == 0 ? "warning" : "problem",
                     grouped(more) + (more == 1 ? " more peer takes" : " more peers take") + " no messages, and " +
                         waitText(waiting, more == 1 ? "it" : "them") + ".",
                     "peers"});
  }
}

HealthSentence sentenceOfBlocked(BoundedCount blocked) {
  return {"problem",
          (blocked.isCut ? "At least " : "") + counted(blocked.count, "session") +
              (blocked.count == 1 ? " is" : " are") + " stopped by a dead letter.",
          "sessions"};
}

/// A sentence for each type whose frames fail.
void addFailing(std::vector<HealthSentence>& found, const std::vector<InboxInfo>& failing) {
  std::set<std::string_view> types;
  for (const InboxInfo& frame : failing) {
    if (!types.insert(frame.type).second) {
      continue;
    }
    const std::string cause =
        frame.lastError.empty() ? std::string() : ": " + records::shortened(frame.lastError, kCauseBytes);
    found.push_back({"warning",
                     "A received frame of type " + frame.type + " has failed " + counted(frame.retryCount, "time") +
                         " and is tried again" + cause + (cause.ends_with('.') ? "" : "."),
                     "inbox?state=backoff"});
  }
}

/// What was refused for good in the last day: its sender has a dead letter, or learns it when it asks.
void addRefused(std::vector<HealthSentence>& found, const std::vector<InboxInfo>& refused, WallTime now) {
  constexpr std::chrono::hours kTold{24};
  std::uint64_t count = 0;
  const InboxInfo* newest = nullptr;
  for (const InboxInfo& frame : refused) {
    if (now - frame.endedAt < kTold) {
      ++count;
      newest = newest == nullptr || frame.endedAt > newest->endedAt ? &frame : newest;
    }
  }
  if (newest != nullptr) {
    found.push_back({"warning",
                     (count >= kRefusedCounted ? "At least " : "") + counted(count, "received frame") +
                         (count == 1 ? " was" : " were") + " refused for good in the last day, the newest, of type " +
                         newest->type + ", " + records::durationText(now - newest->endedAt) + " ago: " +
                         records::shortened(records::joined(newest->reason, newest->lastError), kCauseBytes) + ".",
                     "inbox?state=ended"});
  }
}

/// Frames and peers without an application, and applications that settle nothing.
void addUnattended(std::vector<HealthSentence>& found, const std::vector<records::PeerFigures>& peers,
                   const Reception& reception, WallTime now) {
  if (reception.unattended.frames != 0) {
    found.push_back(
        {"warning", upperFirst(records::unattendedText(reception.unattended, now)) + ".", "inbox?state=unattended"});
  }
  for (const records::PeerFigures& peer : peers) {
    if (peer.figures.unattendedSince) {
      found.push_back({"warning", upperFirst(records::unattendedText(peer.figures, now)) + ".",
                       "messages?state=sent&peer=" + percentEncoded(peer.figures.peer)});
    }
  }
  for (const std::string& types : reception.unwantedTypes) {
    found.push_back({"warning",
                     "Frames of type " + types + " wait for a stream for their type and session to be opened.",
                     "inbox"});
  }
  for (const SilentConsumer& silent : reception.silent) {
    found.push_back({"warning", upperFirst(records::silentText(silent, now)) + ".", "inbox?state=running"});
  }
}

/// Peers that are paused by hand.
void addPaused(std::vector<HealthSentence>& found, const std::vector<records::PeerFigures>& peers) {
  std::string names;
  std::size_t paused = 0;
  std::uint64_t waiting = 0;
  for (const records::PeerFigures& peer : peers) {
    if (peer.circuit.state == PeerState::paused) {
      waiting += peer.figures.pending;
      if (++paused <= kPeersNamed) {
        names += (names.empty() ? "" : ", ") + peer.figures.peer;
      }
    }
  }
  if (paused > kPeersNamed) {
    names += " and " + grouped(paused - kPeersNamed) + " more";
  }
  if (paused != 0) {
    found.push_back({"warning",
                     (paused == 1 ? "Peer " : "Peers ") + names + (paused == 1 ? " is" : " are") +
                         " paused by hand, and " + waitText(waiting, paused == 1 ? "it" : "them") + ".",
                     "peers"});
  }
}

/// The sentence about frames that have an application.
std::string receivedText(const Stats& stats, std::uint64_t inHand) {
  const std::uint64_t busy = std::min(inHand, stats.inbox);
  const std::uint64_t waiting = stats.inbox - busy;
  if (busy == 0) {
    return counted(waiting, "received frame") + (waiting == 1 ? " waits for its turn." : " wait for their turn.");
  }
  return "applications work on " + counted(busy, "received frame") +
         (waiting == 0 ? "." : ", and " + grouped(waiting) + (waiting == 1 ? " waits" : " wait") + " for their turn.");
}

HealthSentence sentenceOfMoving(const Stats& stats, const Reception& reception) {
  const std::uint64_t live = stats.pending + stats.sending + stats.sent;
  if (stats.enqueued == 0 && stats.inbox == 0) {
    return {"ok", "All is well: nothing has been enqueued yet.", {}};
  }
  return {"ok",
          live == 0 && stats.inbox != 0 ? "All is well: " + receivedText(stats, reception.inHand)
          : live == 0
              ? "All is well: everything was delivered."
              : "All is well: " + counted(live, "message") + (live == 1 ? " is on its way." : " are on their way."),
          {}};
}

}  // namespace

std::vector<HealthSentence> healthOf(const Stats& stats, const std::vector<records::PeerFigures>& peers,
                                     BoundedCount blockedSessions, const Reception& reception, WallTime now) {
  std::vector<HealthSentence> found;
  addAway(found, peers, now);
  if (blockedSessions.count != 0) {
    found.push_back(sentenceOfBlocked(blockedSessions));
  }
  addFailing(found, reception.failing);
  addRefused(found, reception.refused, now);
  addUnattended(found, peers, reception, now);
  if (stats.failed != 0) {
    found.push_back({"warning",
                     counted(stats.failed, "dead letter") + (stats.failed == 1 ? " waits" : " wait") +
                         " for a decision: retry or discard.",
                     "dead-letters"});
  }
  addPaused(found, peers);
  if (found.empty() && stats.oldestPendingAge && *stats.oldestPendingAge > kLongWait) {
    found.push_back({"warning",
                     "The oldest of " + counted(stats.pending + stats.sending + stats.sent, "message") +
                         " has waited for " + records::durationText(*stats.oldestPendingAge) +
                         ", and every peer is up.",
                     "messages?state=pending"});
  }
  if (found.empty()) {
    found.push_back(sentenceOfMoving(stats, reception));
  }
  std::ranges::stable_sort(found, {}, [](const HealthSentence& one) { return one.level != "problem"; });
  return found;
}

}  // namespace ackbox::serve::page
