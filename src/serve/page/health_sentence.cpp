#include "serve/page/health_sentence.hpp"

#include <chrono>

#include "cli/text.hpp"
#include "serve/page/html.hpp"

namespace ackbox::serve::page {
namespace {

// Beyond it something keeps messages from going, though no peer is known to be down.
constexpr std::chrono::minutes kLongWait{15};

std::string counted(std::uint64_t count, std::string_view noun) {
  return grouped(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

/// ` for 2 d`; empty: the file does not say.
std::string duration(WallTime since, WallTime now) {
  return since == WallTime{} || since >= now ? std::string() : " for " + cli::durationText(now - since);
}

std::string deadText(std::uint64_t failed) {
  return failed == 0 ? "." : "; there are " + counted(failed, "dead letter") + ".";
}

}  // namespace

HealthSentence healthOf(const Stats& stats, const std::vector<cli::PeerFigures>& peers, std::size_t blockedSessions,
                        WallTime now) {
  std::vector<const cli::PeerFigures*> away;
  std::size_t paused = 0;
  for (const cli::PeerFigures& peer : peers) {
    const PeerState state = peer.circuit.state;
    if (state == PeerState::down || state == PeerState::held || state == PeerState::disabled) {
      away.push_back(&peer);
    }
    paused += state == PeerState::paused ? 1 : 0;
  }
  if (!away.empty()) {
    const cli::PeerFigures& first = *away.front();
    const std::string waiting = counted(first.figures.pending, "message");
    const std::string text =
        away.size() == 1 ? "Peer " + first.figures.peer + " has been " + std::string(toString(first.circuit.state)) +
                               duration(first.circuit.since, now) + ", and " + waiting +
                               (first.figures.pending == 1 ? " waits for it" : " wait for it")
                         : std::to_string(away.size()) + " of " + counted(peers.size(), "peer") + " take no messages";
    return {"problem", text + deadText(stats.failed), "peers"};
  }
  if (blockedSessions != 0) {
    return {"problem",
            counted(blockedSessions, "session") + (blockedSessions == 1 ? " is" : " are") +
                " stopped by a dead letter" + deadText(stats.failed),
            "sessions"};
  }
  if (stats.failed != 0) {
    return {"warning",
            counted(stats.failed, "dead letter") + (stats.failed == 1 ? " waits" : " wait") +
                " for a decision: retry or discard.",
            "dead-letters"};
  }
  if (paused != 0) {
    return {"warning", counted(paused, "peer") + (paused == 1 ? " is" : " are") + " paused by hand.", "peers"};
  }
  if (stats.oldestPendingAge && *stats.oldestPendingAge > kLongWait) {
    return {"warning", "The oldest message has waited for " + cli::durationText(*stats.oldestPendingAge) + ".",
            "messages"};
  }
  if (stats.enqueued == 0) {
    return {"ok", "All is well: nothing has been enqueued yet.", {}};
  }
  return {"ok",
          stats.pending + stats.sending + stats.sent == 0 ? "All is well: everything was delivered."
                                                          : "All is well: messages are on their way.",
          {}};
}

}  // namespace ackbox::serve::page
