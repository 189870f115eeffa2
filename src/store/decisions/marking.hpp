#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ackbox/clock.hpp"
#include "store/types.hpp"

namespace ackbox::store {

/// The mark of a session of others: what was accepted last.
struct SessionMark {
  std::uint64_t accepted = 0;
  std::uint64_t epoch = 0;
  std::string acceptedId = {};
  std::optional<std::uint64_t> acceptedDigest = {};

  /// Moves it to a frame that is taken.
  void accept(const InboundIdentity& frame);
};

/// The precision of a store's last frame's time, so that not each of its frames causes a write.
inline constexpr std::chrono::milliseconds kSeenStep = std::chrono::hours(24);

/// A store of a sender.
struct SenderStore {
  bool isKnown = false;
  bool isClosed = false;
  /// The highest epoch seen.
  std::uint64_t epoch = 0;
  WallTime seenAt{};

  /// Whether a frame at `now` changes its last frame's time.
  [[nodiscard]] bool isSeenAnew(WallTime now) const noexcept;
};

/// What becomes of a frame of a session.
[[nodiscard]] AdmissionReply admission(const InboundIdentity& frame, const SessionMark& mark,
                                       const SenderStore& origin);

/// The key of the mark of a frame without a sequence. AGENIUM's ids are unique only in their session; names have no
/// control characters, so a newline separates the two.
[[nodiscard]] std::string markId(std::string_view session, std::string_view id);

/// Until when that mark is kept.
[[nodiscard]] WallTime markKeptUntil(const InboundIdentity& frame, const MarkLife& life, WallTime now);

/// The number of an outcome outside sessions. A redrive gives a frame of a session a new number, and a frame outside
/// sessions a later instant, which replaces the number in a stored outcome. 0 if the frame has no time.
[[nodiscard]] std::uint64_t redriveNumberOf(const std::optional<WallTime>& time);

/// Outside sessions a frame has one stored outcome, under any number.
[[nodiscard]] std::uint64_t lastNumberOf(const InboundIdentity& frame);

}  // namespace ackbox::store
