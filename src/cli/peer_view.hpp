#pragma once

#include <string>
#include <vector>

#include "ackbox/peer_status.hpp"
#include "cli/table.hpp"
#include "records/peer.hpp"

namespace ackbox::cli {

/// `isOpen`: whether a process has the file open, and so may probe.
[[nodiscard]] Table peerTable(const std::vector<records::PeerFigures>& peers, bool isOpen, WallTime now);
/// The causes that `peerTable` shortened, in full, one a peer.
[[nodiscard]] std::vector<std::string> longCauses(const std::vector<records::PeerFigures>& peers);
[[nodiscard]] Table blockedTable(const std::vector<BlockedSession>& sessions, WallTime now);

}  // namespace ackbox::cli
