#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>

namespace ackbox::testing {

/// The kinds of damage to bytes at rest.
enum class DamageKind : std::uint8_t {
  /// One bit is flipped.
  flippedBit,
  /// One bit is flipped among the bytes of a message's data.
  flippedBitOfData,
  /// A sector of 512 bytes is zeroed.
  zeroedSector,
  zeroedPage,
  /// A sector holds random bytes.
  garbledSector,
  /// The file ends at a random byte.
  cut,
  cutAtPage,
  swappedPages,
  /// A page was also written to the place of another page.
  misplacedPage,
  /// A page is as it was at an earlier moment: its latest write was lost.
  olderPage,
};
inline constexpr std::uint8_t kDamageKinds = 10;

[[nodiscard]] std::string_view toString(DamageKind kind) noexcept;

/// The beginning of a message's data, by which damage finds it.
inline constexpr std::string_view kDataMark = R"({"mark":)";

/// Damages `bytes` at a place drawn from `random`; `earlier` is the same file at an earlier moment. Returns a
/// description of the damage and its place, for people; empty: nothing could be changed.
std::string inflict(DamageKind kind, std::string& bytes, const std::string& earlier, std::mt19937_64& random);

}  // namespace ackbox::testing
