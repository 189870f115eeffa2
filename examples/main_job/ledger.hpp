#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ackbox/stats.hpp"

namespace main_job {

/// A frame that was put in, or an effect that it had.
struct Entry {
  std::string session;
  std::string data;
  /// Known for effects only: what is put in has no id yet.
  std::string messageId;
};

/// What became of the frames of one direction, session by session.
struct Comparison {
  std::uint64_t putIn = 0;
  std::uint64_t effects = 0;
  /// Effects of a frame that had its effect before.
  std::uint64_t repeated = 0;
  /// Effects that came after an effect of a later frame of their session.
  std::uint64_t reordered = 0;
  /// Frames without an effect.
  std::uint64_t lost = 0;
  /// Effects of what nobody put in.
  std::uint64_t unexpected = 0;

  [[nodiscard]] bool clean() const noexcept {
    return putIn == effects && repeated == 0 && reordered == 0 && lost == 0 && unexpected == 0;
  }
};

/// Compares `effects`, in the order in which they were applied, with `putIn`, in the order of the input.
[[nodiscard]] Comparison compare(std::span<const Entry> putIn, std::span<const Entry> effects);

/// The receiver answers every so many frames of a session.
inline constexpr std::uint64_t kReplyEvery = 10;

/// The data of the reply to the `count`-th frame of a session.
[[nodiscard]] std::string replyData(std::uint64_t count);

/// The replies that `putIn` must lead to.
[[nodiscard]] std::vector<Entry> repliesTo(std::span<const Entry> putIn);

/// One direction's account: what the ledger of effects says, and what the two outboxes say.
struct Flow {
  Comparison comparison;
  ackbox::Stats sender;
  ackbox::Stats receiver;

  /// True when both agree, and nothing is under way or given up.
  [[nodiscard]] bool balances() const noexcept;
};

}  // namespace main_job
