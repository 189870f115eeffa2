#include "serve/page/health_sentence.hpp"

#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>

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

std::string counted(std::uint64_t count, std::string_view noun) {
  return grouped(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

/// ` for 2 d`; empty if the file has no such instant.
std::string duration(WallTime since, WallTime now) {
  return since == WallTime{} || since >= now ? std::string() : " for " + records::durationText(now - since);
}

std::string deadText(std::uint64_t failed) {
  return failed == 0 ? "." : "; there are " + counted(failed, "dead letter") + ".";
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

HealthSentence sentenceOfAway(const std::vector<const records::PeerFigures*>& away, std::size_t peers,
                              std::uint64_t failed, WallTime now) {
  std::uint64_t waiting = 0;
  for (const records::PeerFigures* peer : away) {
    waiting += peer->figures.pending;
  }
  const records::PeerFigures& first = *away.front();
  const std::string text = away.size() == 1
                               ? "Peer " + first.figures.peer + " has been " +
                                     std::string(toString(first.circuit.state)) + duration(first.circuit.since, now) +
                                     causeOf(first.circuit) + ", and " + waitText(waiting, "it")
                               : grouped(away.size()) + " of " + counted(peers, "peer") + " take no messages, and " +
                                     waitText(waiting, "them");
  return {waiting == 0 && failed == 0 ? "warning" : "problem", text + deadText(failed), "peers"};
}

HealthSentence sentenceOfBlocked(BoundedCount blocked, std::uint64_t failed) {
  return {"problem",
          (blocked.isCut ? "At least " : "") + counted(blocked.count, "session") +
              (blocked.count == 1 ? " is" : " are") + " stopped by a dead letter" + deadText(failed),
          "sessions"};
}

/// The sentence about frames and peers without an application; nothing if all have one.
std::optional<HealthSentence> sentenceOfUnattended(const std::vector<records::PeerFigures>& peers,
                                                   const Reception& reception, WallTime now) {
  if (reception.unattended.frames != 0) {
    return HealthSentence{"warning", upperFirst(records::unattendedText(reception.unattended, now)) + ".", "inbox"};
  }
  for (const records::PeerFigures& peer : peers) {
    if (peer.figures.unattendedSince) {
      return HealthSentence{"warning", upperFirst(records::unattendedText(peer.figures, now)) + ".",
                            "messages?state=sent"};
    }
  }
  if (!reception.unwantedTypes.empty()) {
    return HealthSentence{"warning",
                          "Frames of type " + reception.unwantedTypes.front() +
                              " wait for a stream for their type and session to be opened.",
                          "inbox"};
  }
  if (!reception.silent.empty()) {
    return HealthSentence{"warning", upperFirst(records::silentText(reception.silent.front(), now)) + ".", "inbox"};
  }
  return std::nullopt;
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

HealthSentence healthOf(const Stats& stats, const std::vector<records::PeerFigures>& peers,
                        BoundedCount blockedSessions, const Reception& reception, WallTime now) {
  std::vector<const records::PeerFigures*> away;
  std::size_t paused = 0;
  std::uint64_t waiting = 0;
  for (const records::PeerFigures& peer : peers) {
    if (isAway(peer)) {
      away.push_back(&peer);
    }
    if (peer.circuit.state == PeerState::paused) {
      ++paused;
      waiting += peer.figures.pending;
    }
  }
  if (!away.empty()) {
    return sentenceOfAway(away, peers.size(), stats.failed, now);
  }
  if (blockedSessions.count != 0) {
    return sentenceOfBlocked(blockedSessions, stats.failed);
  }
  if (std::optional<HealthSentence> sentence = sentenceOfUnattended(peers, reception, now)) {
    return *std::move(sentence);
  }
  if (stats.failed != 0) {
    return {"warning",
            counted(stats.failed, "dead letter") + (stats.failed == 1 ? " waits" : " wait") +
                " for a decision: retry or discard.",
            "dead-letters"};
  }
  if (paused != 0) {
    return {"warning",
            counted(paused, "peer") + (paused == 1 ? " is" : " are") + " paused by hand, and " +
                waitText(waiting, paused == 1 ? "it" : "them") + ".",
            "peers"};
  }
  if (stats.oldestPendingAge && *stats.oldestPendingAge > kLongWait) {
    return {"warning",
            "The oldest of " + counted(stats.pending + stats.sending + stats.sent, "message") + " has waited for " +
                records::durationText(*stats.oldestPendingAge) + ", and every peer is up.",
            "messages?state=pending"};
  }
  return sentenceOfMoving(stats, reception);
}

}  // namespace ackbox::serve::page
