#pragma once

#include <string>
#include <vector>

#include "ackbox/outbox_reader.hpp"
#include "ackbox/peer_status.hpp"
#include "cli/table.hpp"
#include "json/line.hpp"

namespace ackbox::cli {

/// A peer's part of the outbox, and its circuit.
struct PeerFigures {
  PeerStats figures;
  PeerStatus circuit;
};

/// By name.
[[nodiscard]] std::vector<PeerFigures> readPeers(const OutboxReader& reader);

[[nodiscard]] json::Line peerLine(const PeerFigures& peer);
/// `isOpen`: whether a process has the file open, and so may probe.
[[nodiscard]] Table peerTable(const std::vector<PeerFigures>& peers, bool isOpen, WallTime now);
/// The causes that `peerTable` shortened, in full, one a peer.
[[nodiscard]] std::vector<std::string> longCauses(const std::vector<PeerFigures>& peers);
[[nodiscard]] json::Line blockedLine(const BlockedSession& session);
[[nodiscard]] Table blockedTable(const std::vector<BlockedSession>& sessions, WallTime now);

}  // namespace ackbox::cli
