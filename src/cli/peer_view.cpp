#include "cli/peer_view.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "cli/text.hpp"

namespace ackbox::cli {
namespace {

std::optional<WallTime> known(WallTime instant) {
  return instant == WallTime{} ? std::nullopt : std::optional(instant);
}

std::string agoOrNone(WallTime now, const std::optional<WallTime>& instant) {
  return instant ? agoText(now, *instant) : "-";
}

std::string whyText(const BlockedSession& session) {
  return shortened(session.lastError.empty() ? session.reason : session.reason + ": " + session.lastError, kWhyWidth);
}

}  // namespace

std::vector<PeerFigures> readPeers(const OutboxReader& reader) {
  std::vector<PeerFigures> peers;
  const std::vector<PeerStatus> circuits = reader.peers();
  for (PeerStats& figures : reader.peerStats()) {
    const auto circuit =
        std::find_if(circuits.begin(), circuits.end(), [&](const PeerStatus& one) { return one.name == figures.peer; });
    // One that was added between the two looks has not been asked yet.
    peers.push_back({std::move(figures), circuit == circuits.end() ? PeerStatus{} : *circuit});
  }
  return peers;
}

json::Line peerLine(const PeerFigures& peer) {
  const PeerStats& figures = peer.figures;
  json::Line line;
  line.add("peer", figures.peer)
      .add("state", toString(peer.circuit.state))
      .add("since_at_ms", known(peer.circuit.since))
      .add("pending", figures.pending)
      .add("sending", figures.sending)
      .add("sent", figures.sent)
      .add("failed", figures.failed)
      .add("pending_bytes", figures.pendingBytes)
      .add("enqueued_total", figures.enqueued)
      .add("acked_total", figures.acked)
      .add("failed_total", figures.failedTotal)
      .add("retries_total", figures.totalRetries)
      .add("down", figures.down)
      .add("failures", figures.failures)
      .add("down_since_at_ms", figures.downSince)
      .add("next_probe_at_ms", figures.nextProbeAt)
      .add("last_error", figures.lastError)
      .add("store", figures.store)
      .add("resets_total", figures.resets)
      .add("last_reset_at_ms", figures.lastResetAt)
      .add("resent_total", figures.resent)
      .add("unattended_since_at_ms", figures.unattendedSince)
      .add("unattended_type", figures.unattendedType);
  return line;
}

Table peerTable(const std::vector<PeerFigures>& peers, bool isOpen, WallTime now) {
  Table table({{"PEER", Align::left},
               {"STATE", Align::left},
               {"SINCE", Align::left},
               {"PENDING", Align::right},
               {"SENDING", Align::right},
               {"SENT", Align::right},
               {"FAILED", Align::right},
               {"SIZE", Align::right},
               {"ACKED", Align::right},
               {"RETRIES", Align::right},
               {"RESETS", Align::right},
               {"PROBE", Align::left},
               {"LAST ERROR", Align::left}});
  for (const PeerFigures& peer : peers) {
    const PeerStats& figures = peer.figures;
    const PeerState state = peer.circuit.state;
    const bool isProbed = isOpen && (state == PeerState::down || state == PeerState::held);
    table.add({figures.peer, std::string(toString(state)), agoOrNone(now, known(peer.circuit.since)),
               std::to_string(figures.pending), std::to_string(figures.sending), std::to_string(figures.sent),
               std::to_string(figures.failed), bytesText(figures.pendingBytes), std::to_string(figures.acked),
               std::to_string(figures.totalRetries), std::to_string(figures.resets),
               isProbed ? agoText(now, std::max(now, peer.circuit.nextProbeAt)) : "-",
               shortened(figures.lastError, kWhyWidth)});
  }
  return table;
}

std::vector<std::string> longCauses(const std::vector<PeerFigures>& peers) {
  std::vector<std::string> causes;
  for (const PeerFigures& peer : peers) {
    if (widthOf(peer.figures.lastError) > kWhyWidth) {
      causes.push_back(peer.figures.peer + ": " + peer.figures.lastError);
    }
  }
  return causes;
}

json::Line blockedLine(const BlockedSession& session) {
  json::Line line;
  line.add("peer", session.peer)
      .add("session", session.session)
      .add("since_at_ms", known(session.since))
      .add("message_id", session.messageId)
      .add("sequence", session.sequence)
      .add("reason", session.reason)
      .add("last_error", session.lastError)
      .add("waiting", session.waiting);
  return line;
}

Table blockedTable(const std::vector<BlockedSession>& sessions, WallTime now) {
  Table table({{"PEER", Align::left},
               {"SESSION", Align::left},
               {"SINCE", Align::left},
               {"WAITING", Align::right},
               {"DEAD LETTER", Align::left},
               {"SEQ", Align::right},
               {"WHY", Align::left}});
  for (const BlockedSession& session : sessions) {
    table.add({session.peer, session.session, agoOrNone(now, known(session.since)), std::to_string(session.waiting),
               session.messageId, std::to_string(session.sequence), whyText(session)});
  }
  return table;
}

}  // namespace ackbox::cli
