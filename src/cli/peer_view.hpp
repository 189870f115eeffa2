#pragma once

#include <vector>

#include "ackbox/outbox_reader.hpp"
#include "ackbox/peer_status.hpp"
#include "cli/json_line.hpp"
#include "cli/table.hpp"

namespace ackbox::cli {

/// A peer's part of the outbox, and its circuit.
struct PeerFigures {
  PeerStats figures;
  PeerStatus circuit;
};

/// By name.
[[nodiscard]] std::vector<PeerFigures> readPeers(const OutboxReader& reader);

[[nodiscard]] JsonLine peerLine(const PeerFigures& peer);
[[nodiscard]] Table peerTable(const std::vector<PeerFigures>& peers, WallTime now);
[[nodiscard]] JsonLine blockedLine(const BlockedSession& session);
[[nodiscard]] Table blockedTable(const std::vector<BlockedSession>& sessions, WallTime now);

}  // namespace ackbox::cli
