#include "records/peer.hpp"

#include <algorithm>
#include <array>

namespace ackbox::records {
namespace {

/// Of `PeerStats`.
template <auto Member>
constexpr Field<PeerFigures> ofPeer(std::string_view name, std::string_view meaning) {
  return field<PeerFigures, [](const PeerFigures& peer) { return peer.figures.*Member; }>(name, meaning);
}

constexpr std::array kPeer{
    ofPeer<&PeerStats::peer>("peer", "Its name."),
    field<PeerFigures, [](const PeerFigures& peer) { return toString(peer.circuit.state); }>("state",
                                                                                             "Whether it is sent to."),
    field<PeerFigures, [](const PeerFigures& peer) { return peer.circuit.since; }>("since_at_ms",
                                                                                   "Since when it is in this state."),
    ofPeer<&PeerStats::pending>("pending", "Messages that are still to be sent."),
    ofPeer<&PeerStats::sending>("sending", "Messages in a request under way."),
    ofPeer<&PeerStats::sent>("sent", "Messages that the peer has deferred."),
    ofPeer<&PeerStats::failed>("failed", "Dead letters."),
    ofPeer<&PeerStats::pendingBytes>("pending_bytes", "The bytes of what is not settled."),
    ofPeer<&PeerStats::enqueued>("enqueued_total", "Messages enqueued since the file was made."),
    ofPeer<&PeerStats::acked>("acked_total", "Messages acknowledged."),
    ofPeer<&PeerStats::failedTotal>("failed_total", "Messages that became dead letters."),
    ofPeer<&PeerStats::totalRetries>("retries_total", "Attempts after the first."),
    ofPeer<&PeerStats::down>("down", "Unreachable, as the process that tried last has found."),
    ofPeer<&PeerStats::failures>("failures", "Failed requests in a row."),
    ofPeer<&PeerStats::downSince>("down_since_at_ms", "Since when it is unreachable."),
    ofPeer<&PeerStats::nextProbeAt>("next_probe_at_ms", "When it is tried again."),
    ofPeer<&PeerStats::lastError>("last_error", "Why it is unreachable or held."),
    ofPeer<&PeerStats::store>("store", "The identity of its store, as its answers name it."),
    ofPeer<&PeerStats::resets>("resets_total",
                               "How often it was found to have lost its database, or to have an older one."),
    ofPeer<&PeerStats::lastResetAt>("last_reset_at_ms", "When it last was."),
    ofPeer<&PeerStats::resent>("resent_total", "Acknowledged messages that were sent again for that."),
    ofPeer<&PeerStats::unattendedSince>("unattended_since_at_ms",
                                        "Since when the peer has had no application for some of what it deferred."),
    ofPeer<&PeerStats::unattendedType>("unattended_type", "Their type."),
};

template <auto Member>
constexpr Field<BlockedSession> ofBlocked(std::string_view name, std::string_view meaning) {
  return field<BlockedSession, Member>(name, meaning);
}

constexpr std::array kBlocked{
    ofBlocked<&BlockedSession::peer>("peer", "The name of its peer."),
    ofBlocked<&BlockedSession::session>("session", "Its name."),
    ofBlocked<&BlockedSession::since>("since_at_ms", "Since when it is blocked."),
    ofBlocked<&BlockedSession::messageId>("message_id", "The dead letter that blocks it."),
    ofBlocked<&BlockedSession::sequence>("sequence", "The dead letter's number."),
    ofBlocked<&BlockedSession::reason>("reason", "Why it is a dead letter."),
    ofBlocked<&BlockedSession::lastError>("last_error", "The error of its last attempt."),
    ofBlocked<&BlockedSession::waiting>("waiting", "The session's messages that are not settled."),
};

}  // namespace

std::vector<PeerFigures> readPeers(const OutboxReader& reader) {
  std::vector<PeerFigures> peers;
  const std::vector<PeerStatus> circuits = reader.peers();
  for (PeerStats& figures : reader.peerStats()) {
    const auto circuit =
        std::ranges::find_if(circuits, [&](const PeerStatus& one) { return one.name == figures.peer; });
    // One that was added between the two looks has not been asked yet.
    peers.push_back({std::move(figures), circuit == circuits.end() ? PeerStatus{} : *circuit});
  }
  return peers;
}

std::span<const Field<PeerFigures>> peerFields() {
  return kPeer;
}

json::Line lineOf(const PeerFigures& peer) {
  return lineOf(peerFields(), peer);
}

std::span<const Field<BlockedSession>> blockedSessionFields() {
  return kBlocked;
}

json::Line lineOf(const BlockedSession& session) {
  return lineOf(blockedSessionFields(), session);
}

}  // namespace ackbox::records
