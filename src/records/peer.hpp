#pragma once

#include <span>
#include <vector>

#include "ackbox/outbox_reader.hpp"
#include "ackbox/peer_status.hpp"
#include "records/field.hpp"

namespace ackbox::records {

/// A peer's part of the outbox, and its circuit.
struct PeerFigures {
  PeerStats figures;
  PeerStatus circuit;
};

/// By name.
[[nodiscard]] std::vector<PeerFigures> readPeers(const OutboxReader& reader);

[[nodiscard]] std::span<const Field<PeerFigures>> peerFields();
[[nodiscard]] json::Line lineOf(const PeerFigures& peer);
[[nodiscard]] std::span<const Field<BlockedSession>> blockedSessionFields();
[[nodiscard]] json::Line lineOf(const BlockedSession& session);

}  // namespace ackbox::records
