#include "store/uuid.hpp"

#include <algorithm>

namespace ackbox::store {
namespace {

constexpr std::uint64_t kVariant = 0x8000'0000'0000'0000U;
constexpr std::uint64_t kVariantMask = 0x3fff'ffff'ffff'ffffU;
constexpr std::uint64_t kCounterMax = 0xfff;

std::string format(std::uint64_t high, std::uint64_t low) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text(36, '-');
  std::size_t position = 0;
  for (int nibble = 0; nibble < 32; ++nibble) {
    if (nibble == 8 || nibble == 12 || nibble == 16 || nibble == 20) {
      ++position;
    }
    const std::uint64_t word = nibble < 16 ? high : low;
    text[position++] = kDigits[(word >> static_cast<unsigned>(60 - 4 * (nibble % 16))) & 0xfU];
  }
  return text;
}

}  // namespace

std::string UuidGenerator::next(WallTime now, Random& random) {
  const auto milliseconds = static_cast<std::uint64_t>(std::max<std::int64_t>(now.time_since_epoch().count(), 0));
  if (milliseconds > milliseconds_) {
    milliseconds_ = milliseconds;
    counter_ = 0;
  } else if (++counter_ > kCounterMax) {
    // More than 4,096 in this millisecond, or a clock that stands still: run ahead of it.
    ++milliseconds_;
    counter_ = 0;
  }
  return format((milliseconds_ << 16U) | 0x7000U | counter_, kVariant | (random.next() & kVariantMask));
}

std::string randomUuid(Random& random) {
  return format((random.next() & ~0xf000ULL) | 0x4000U, kVariant | (random.next() & kVariantMask));
}

}  // namespace ackbox::store
