#pragma once

#include <cstdint>
#include <string_view>

namespace ackbox::store {

/// A 64-bit digest of a frame's type and data, which distinguishes a repetition from other data under the same id. It
/// is stored: never change the algorithm.
///
/// It finds mistakes, not attacks: a sender can make two frames with the same digest, but this affects only its own
/// frames: their receiver takes the second for the first.
///
/// Source: MurmurHash64A by Austin Appleby, public domain; words are read with the lowest byte first.
[[nodiscard]] std::uint64_t digestOf(std::string_view type, std::string_view data) noexcept;

/// A digest of a row, fed one text or number after the other, which detects bytes that change at rest: it misses one
/// change in two thousand million. Stored: never change the algorithm.
class RowDigest {
public:
  RowDigest& add(std::string_view text) noexcept;
  RowDigest& add(std::uint64_t number) noexcept;
  /// As many bits as fit into 4 bytes in SQLite's rows.
  static constexpr std::int64_t kMask = 0x7fffffff;
  [[nodiscard]] std::int64_t value() const noexcept;

private:
  std::uint64_t hash_ = 0;
};

}  // namespace ackbox::store
