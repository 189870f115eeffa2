#pragma once

#include <span>
#include <vector>

#include "ackbox/outbox_reader.hpp"
#include "ackbox/peer_status.hpp"
#include "records/field.hpp"

namespace ackbox::records {

/// A peer's figures in the outbox, and its circuit.
struct PeerFigures {
  PeerStats figures;
  PeerStatus circuit;
  /// A process has the file open.
  bool isOpen = true;
};

/// The figures of all peers, sorted by name.
[[nodiscard]] std::vector<PeerFigures> readPeers(const OutboxReader& reader);

template <>
std::span<const Field<PeerFigures>> fields();
template <>
std::span<const Field<BlockedSession>> fields();

}  // namespace ackbox::records
