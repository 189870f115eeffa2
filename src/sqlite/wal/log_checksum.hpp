#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sqlite/wal/log_format.hpp"

namespace ackbox::sqlite {

/// The checksum of the log's file format, over words in the order that the log's header names.
class LogChecksum {
public:
  explicit LogChecksum(bool bigEndian) noexcept : bigEndian_(bigEndian) {}

  /// Continues from the checksum of the preceding bytes.
  void continueFrom(const std::array<std::uint32_t, 2>& numbers) noexcept {
    first_ = numbers[0];
    second_ = numbers[1];
  }

  void add(std::span<const std::byte> bytes) noexcept {
    for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
      first_ += word(bytes.data() + at) + second_;
      second_ += word(bytes.data() + at + 4) + first_;
    }
  }
  /// Whether it equals the checksum that is stored at `stored`.
  [[nodiscard]] bool isAt(const std::byte* stored) const noexcept {
    return numberAt(stored) == first_ && numberAt(stored + 4) == second_;
  }
  [[nodiscard]] bool operator==(const std::array<std::uint32_t, 2>& numbers) const noexcept {
    return numbers[0] == first_ && numbers[1] == second_;
  }

private:
  [[nodiscard]] std::uint32_t word(const std::byte* bytes) const noexcept {
    const std::uint32_t number = numberAt(bytes);
    return bigEndian_ ? number : number >> 24U | (number >> 8U & 0xFF00U) | (number << 8U & 0xFF0000U) | number << 24U;
  }

  const bool bigEndian_;
  std::uint32_t first_ = 0;
  std::uint32_t second_ = 0;
};

}  // namespace ackbox::sqlite
