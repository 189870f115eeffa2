#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace ackbox::protocol {

/// Where the first byte from `position` on stands that `isSought` tells of; the end of `text` when there is none.
/// `isSought` is made of comparisons and `|`, so that it takes one byte or sixteen at once.
template <typename IsSought>
[[nodiscard]] std::size_t findByte(std::string_view text, std::size_t position, IsSought isSought) noexcept {
  using Block [[gnu::vector_size(16)]] = unsigned char;
  const auto firstOf = [](std::uint64_t marks) {
    const int zeros = std::endian::native == std::endian::little ? std::countr_zero(marks) : std::countl_zero(marks);
    return static_cast<unsigned>(zeros) / 8;
  };
  if (position + sizeof(Block) <= text.size()) {
    // The last block overlaps the one before it.
    for (const std::size_t last = text.size() - sizeof(Block);; position = std::min(position + sizeof(Block), last)) {
      Block block;
      std::memcpy(&block, text.data() + position, sizeof(block));
      const auto sought = isSought(block);
      std::array<std::uint64_t, 2> marks{};
      std::memcpy(marks.data(), &sought, sizeof(sought));
      if (marks[0] != 0) {
        return position + firstOf(marks[0]);
      }
      if (marks[1] != 0) {
        return position + 8 + firstOf(marks[1]);
      }
      if (position == last) {
        return text.size();
      }
    }
  }
  while (position < text.size() && !isSought(static_cast<unsigned char>(text[position]))) {
    ++position;
  }
  return position;
}

}  // namespace ackbox::protocol
