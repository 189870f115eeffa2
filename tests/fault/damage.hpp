#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>

namespace ackbox::testing {

/// What may become of bytes at rest.
enum class DamageKind : std::uint8_t {
  /// One bit is another.
  flippedBit,
  /// The same, among the bytes of a message's data.
  flippedBitOfData,
  /// A sector of 512 bytes is zeros.
  zeroedSector,
  zeroedPage,
  /// A sector has random bytes.
  garbledSector,
  /// The file ends at some byte.
  cut,
  cutAtPage,
  swappedPages,
  /// A page was written to the place of another, too.
  misplacedPage,
  /// A page is as it was at an earlier moment: its latest write never came.
  olderPage,
};
inline constexpr std::uint8_t kDamageKinds = 10;

[[nodiscard]] std::string_view toString(DamageKind kind) noexcept;

/// What data begins with, so that it can be aimed at.
inline constexpr std::string_view kDataMark = R"({"mark":)";

/// Does it to `bytes` at a place drawn from `random`; `earlier` is the same file at an earlier moment. Returns what was
/// done where, for people; empty: there was nothing that it could change.
std::string inflict(DamageKind kind, std::string& bytes, const std::string& earlier, std::mt19937_64& random);

}  // namespace ackbox::testing
