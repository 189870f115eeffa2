#pragma once

#include <cstdint>
#include <string_view>

namespace ackbox::store {

/// A frame's type and data in 64 bits, which distinguish a repetition from other data under the same id. It is stored:
/// never change it.
///
/// It finds mistakes, not attacks: a sender that wants two frames with one digest can make them, and deceives only the
/// receiver of its own frames, which takes the second for the first.
///
/// Source: MurmurHash64A by Austin Appleby, public domain; words are read with the lowest byte first.
[[nodiscard]] std::uint64_t digestOf(std::string_view type, std::string_view data) noexcept;

/// What is gathered of a row, one text or number after the other, so that bytes of it that change at rest are noticed:
/// one change in two thousand million is not. Stored: never change it.
class RowDigest {
public:
  RowDigest& add(std::string_view text) noexcept;
  RowDigest& add(std::uint64_t number) noexcept;
  /// So many bits as take 4 bytes in SQLite's rows.
  static constexpr std::int64_t kMask = 0x7fffffff;
  [[nodiscard]] std::int64_t value() const noexcept;

private:
  std::uint64_t hash_ = 0;
};

}  // namespace ackbox::store
