#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace ackbox::sqlite {

// Numbers of the write-ahead log's file format. Source: https://www.sqlite.org/fileformat2.html#walformat

inline constexpr int kLogHeaderBytes = 32;
inline constexpr int kFrameHeaderBytes = 24;
/// The first number of a log; its last bit is set where checksums are over big-endian words.
inline constexpr std::uint32_t kLogMagic = 0x377f0682;

using LogSalt = std::array<std::byte, 8>;

/// The big-endian number of four bytes.
[[nodiscard]] inline std::uint32_t numberAt(const std::byte* bytes) noexcept {
  std::uint32_t number = 0;
  for (int index = 0; index < 4; ++index) {
    number = number << 8U | std::to_integer<std::uint32_t>(bytes[index]);
  }
  return number;
}

/// Whether a frame's header ends a commit: bytes 4 to 7 are the file's size in pages after it, or 0.
[[nodiscard]] inline bool commits(const std::byte* header) noexcept {
  return numberAt(header + 4) != 0;
}

/// Powers of two from 512 to 65,536.
[[nodiscard]] inline bool isPageSize(std::int64_t bytes) noexcept {
  return bytes >= 512 && bytes <= 65'536 && (bytes & (bytes - 1)) == 0;
}

}  // namespace ackbox::sqlite
