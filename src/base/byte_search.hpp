#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace ackbox {

/// The position of the first byte, from `position` on, for which `isSought` is true; the length of `text` if there is
/// no such byte. `isSought` must consist of comparisons and `|`, so that it takes one byte or sixteen at once.
template <typename IsSought>
[[nodiscard]] std::size_t findByte(std::string_view text, std::size_t position, IsSought isSought) noexcept {
  using Block [[gnu::vector_size(16)]] = unsigned char;
  const auto blockAt = [](const char* bytes) {
    Block block;
    std::memcpy(&block, bytes, sizeof(block));
    return block;
  };
  const auto firstOf = [](std::uint64_t marks) {
    const int zeros = std::endian::native == std::endian::little ? std::countr_zero(marks) : std::countl_zero(marks);
    return static_cast<unsigned>(zeros) / 8;
  };
  const std::size_t start = position;
  // Tests four blocks with one branch.
  using Words [[gnu::vector_size(16)]] = std::uint64_t;
  constexpr std::size_t kStride = 4 * sizeof(Block);
  for (; position + kStride <= text.size(); position += kStride) {
    const char* const bytes = text.data() + position;
    const auto sought = isSought(blockAt(bytes)) | isSought(blockAt(bytes + sizeof(Block))) |
                        isSought(blockAt(bytes + 2 * sizeof(Block))) | isSought(blockAt(bytes + 3 * sizeof(Block)));
    Words marks;
    std::memcpy(&marks, &sought, sizeof(marks));
    if ((marks[0] | marks[1]) != 0) {
      break;
    }
  }
  if (start + sizeof(Block) <= text.size()) {
    // The last block overlaps the one before it.
    const std::size_t last = text.size() - sizeof(Block);
    for (position = std::min(position, last);; position = std::min(position + sizeof(Block), last)) {
      const auto sought = isSought(blockAt(text.data() + position));
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

}  // namespace ackbox
