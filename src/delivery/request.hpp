#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "delivery/session.hpp"

namespace ackbox::delivery {

/// One request under way: first its claim, then the claimed messages.
struct Request {
  RequestId id = 0;
  Peer* peer = nullptr;
  /// The epoch of the peer's health at the start.
  std::uint64_t epoch = 0;
  /// This store's epoch at the claim.
  std::uint64_t ownEpoch = 0;
  /// See `Settlement::recalls`.
  std::int64_t recalls = 0;
  /// It carries a message that took long in an earlier refused request.
  bool isLate = false;
  /// When the sender was given the request.
  SteadyTime sentAt{};

  /// The most frames that it may have.
  std::size_t framesMax = 0;
  /// The rows that the claim asked for; null once it was answered.
  std::shared_ptr<const std::vector<SessionClaim>> asked;

  struct Item {
    Session* session = nullptr;
    ClaimedRow row;
    /// The predecessor as stated on the wire.
    std::uint64_t previousSequence = 0;
  };
  /// The messages to send; a session's items are adjacent and in order.
  std::vector<Item> items;
  /// Per session of `items`, in their order: the predecessor that the store had on record.
  std::vector<std::uint64_t> predecessors;
  /// In the same order: the highest sequence that the peer was known to have from this file.
  std::vector<std::uint64_t> confirmed;
  /// A claim has shown that this file is not the one that the peer knows.
  std::optional<PeerIdentity> outdated = {};

  [[nodiscard]] bool claiming() const noexcept { return items.empty(); }
};

}  // namespace ackbox::delivery
