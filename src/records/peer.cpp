#include "records/peer.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "records/text.hpp"

namespace ackbox::records {
namespace {

/// A field that is a member of `PeerStats`.
template <auto Member>
constexpr Field<PeerFigures> ofPeer(std::string_view name, std::string_view meaning, Shown shown = {}) {
  return field<[](const PeerFigures& peer) { return peer.figures.*Member; }>(name, meaning, shown);
}

/// The time of the peer's next probe, if a process sends one.
Value probeOf(const PeerFigures& peer, WallTime now) {
  const PeerState state = peer.circuit.state;
  const bool isProbed = peer.isOpen && (state == PeerState::down || state == PeerState::held);
  return isProbed ? Value(std::max(now, peer.circuit.nextProbeAt)) : Value();
}

constexpr std::array kPeer{
    ofPeer<&PeerStats::peer>("peer", "Its name.", {"", "PEER"}),
    field<[](const PeerFigures& peer) {
      return peer.circuit.isRemoved ? std::string_view("removed") : toString(peer.circuit.state);
    }>("state", "Whether it is sent to.", {"", "STATE"}),
    field<[](const PeerFigures& peer) { return peer.circuit.since; }>(
        "since_at_ms",
        "Since when it is up or paused, or takes nothing: a change between down and held does not begin anew.",
        {"", "SINCE"}),
    ofPeer<&PeerStats::pending>("pending", "Messages that are still to be sent.", {"", "PENDING"}),
    ofPeer<&PeerStats::sending>("sending", "Messages in a request under way.", {"", "SENDING"}),
    ofPeer<&PeerStats::sent>("sent", "Messages that the peer has deferred.", {"", "SENT"}),
    ofPeer<&PeerStats::failed>("failed", "Dead letters.", {"", "FAILED"}),
    ofPeer<&PeerStats::pendingBytes>("pending_bytes", "The bytes of what is not settled.", {"", "SIZE", Form::bytes}),
    ofPeer<&PeerStats::enqueued>("enqueued_total", "Messages enqueued since the outbox was made."),
    ofPeer<&PeerStats::acked>("acked_total", "Messages acknowledged.", {"", "ACKED"}),
    ofPeer<&PeerStats::failedTotal>("failed_total", "Messages that became dead letters."),
    ofPeer<&PeerStats::totalRetries>("retries_total", "Attempts after the first.", {"", "RETRIES"}),
    ofPeer<&PeerStats::down>("down", "Unreachable, as the process that tried last has found."),
    ofPeer<&PeerStats::failures>("failures", "Failed requests in a row."),
    ofPeer<&PeerStats::downSince>("down_since_at_ms", "Since when it is unreachable."),
    ofPeer<&PeerStats::nextProbeAt>("next_probe_at_ms", "When it is tried again."),
    ofPeer<&PeerStats::lastError>("last_error", "Why it is unreachable or held."),
    ofPeer<&PeerStats::store>("store", "The identity of its store, as its answers name it."),
    ofPeer<&PeerStats::resets>(
        "resets_total", "How often it was found to have lost its database, or to have an older one.", {"", "RESETS"}),
    ofPeer<&PeerStats::lastResetAt>("last_reset_at_ms", "When it last was."),
    ofPeer<&PeerStats::resent>("resent_total", "Acknowledged messages that were sent again for that."),
    ofPeer<&PeerStats::unattendedSince>("unattended_since_at_ms",
                                        "Since when the peer has had no application for some of what it deferred."),
    ofPeer<&PeerStats::unattendedType>("unattended_type", "Their type."),
    field<[](const PeerFigures& peer) { return !peer.circuit.definition.empty(); }>(
        "added", "It was added at run time, and is not of a configuration."),
    field<[](const PeerFigures& peer) { return peer.circuit.isRemoved; }>(
        "removed", "It was removed, and is shown until its messages are gone."),
    forPeople<&probeOf>({"", "PROBE"}),
    forPeople<[](const PeerFigures& peer) { return peer.figures.lastError; }>({"", "LAST ERROR", Form::error}),
};

constexpr std::array kBlocked{
    field<&BlockedSession::peer>("peer", "The name of its peer.", {"", "PEER"}),
    field<&BlockedSession::session>("session", "Its name.", {"", "SESSION"}),
    field<&BlockedSession::since>("since_at_ms", "Since when it is blocked.", {"", "SINCE"}),
    field<&BlockedSession::messageId>("message_id", "The dead letter that blocks it.", {"", "DEAD LETTER"}),
    field<&BlockedSession::sequence>("sequence", "The dead letter's number.", {"", "SEQ"}),
    field<&BlockedSession::reason>("reason", "Why it is a dead letter."),
    field<&BlockedSession::lastError>("last_error", "The error of its last attempt."),
    field<&BlockedSession::waiting>("waiting", "The session's messages that are not settled.", {"", "WAITING"}),
    forPeople<[](const BlockedSession& session) { return joined(session.reason, session.lastError); }>(
        {"", "WHY", Form::error}),
};

}  // namespace

std::vector<PeerFigures> readPeers(const OutboxReader& reader) {
  std::vector<PeerFigures> peers;
  const std::vector<PeerStatus> circuits = reader.peers();
  const bool isOpen = !reader.processIds().empty();
  for (PeerStats& figures : reader.peerStats()) {
    const auto circuit =
        std::ranges::find_if(circuits, [&](const PeerStatus& one) { return one.name == figures.peer; });
    // A peer that was added between the two reads has no circuit yet.
    peers.push_back({std::move(figures), circuit == circuits.end() ? PeerStatus{} : *circuit, isOpen});
  }
  return peers;
}

template <>
std::span<const Field<PeerFigures>> fields() {
  return kPeer;
}

template <>
std::span<const Field<BlockedSession>> fields() {
  return kBlocked;
}

}  // namespace ackbox::records
