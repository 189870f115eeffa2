#include "store/uuid.hpp"

#include <algorithm>
#include <array>

namespace ackbox::store {
namespace {

constexpr std::uint64_t kVariant = 0x8000'0000'0000'0000U;
constexpr std::uint64_t kVariantMask = 0x3fff'ffff'ffff'ffffU;
constexpr std::uint64_t kCounterMax = 0xfff;
constexpr std::uint64_t kCounterStartMax = 0x7ff;
constexpr std::int64_t kKeyMax = 9'999'999'999;

std::string format(std::uint64_t high, std::uint64_t low) {
  static constexpr char kDigits[] = "0123456789abcdef";
  // Of each byte; between them stand the hyphens.
  static constexpr std::array<std::size_t, 16> kPlaces{0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34};
  std::string text(36, '-');
  for (std::size_t index = kPlaces.size(); index-- > 0;) {
    std::uint64_t& word = index < kPlaces.size() / 2 ? high : low;
    text[kPlaces[index]] = kDigits[(word >> 4U) & 0xfU];
    text[kPlaces[index] + 1] = kDigits[word & 0xfU];
    word >>= 8U;
  }
  return text;
}

// The digits of `key`, each in four bits, in place of the last bits of `low`.
std::uint64_t withKey(std::uint64_t low, std::int64_t key) {
  for (unsigned digit = 0; digit < UuidGenerator::kKeyDigits; ++digit, key /= 10) {
    low &= ~(std::uint64_t{0xf} << (4U * digit));
    low |= static_cast<std::uint64_t>(key % 10) << (4U * digit);
  }
  return low;
}

}  // namespace

std::string UuidGenerator::next(WallTime now, Random& random, std::int64_t key) {
  const std::uint64_t bits = random.next();
  const auto milliseconds = static_cast<std::uint64_t>(std::max<std::int64_t>(now.time_since_epoch().count(), 0));
  if (milliseconds > milliseconds_) {
    milliseconds_ = milliseconds;
    counter_ = bits & kCounterStartMax;
  } else if (++counter_ > kCounterMax) {
    // More in this millisecond than the counter has room for, or a clock that stands still: run ahead of it.
    ++milliseconds_;
    counter_ = bits & kCounterStartMax;
  }
  // The counter has taken bits of those that the key takes the place of.
  const std::uint64_t low = kVariant | (bits & kVariantMask);
  return format((milliseconds_ << 16U) | 0x7000U | counter_, key <= kKeyMax ? withKey(low, key) : low);
}

std::string randomUuid(Random& random) {
  return format((random.next() & ~0xf000ULL) | 0x4000U, kVariant | (random.next() & kVariantMask));
}

}  // namespace ackbox::store
