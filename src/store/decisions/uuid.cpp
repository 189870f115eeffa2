#include "store/decisions/uuid.hpp"

#include <algorithm>
#include <array>

namespace ackbox::store {
namespace {

constexpr std::uint64_t kVersion7 = 0x7000U;
constexpr std::uint64_t kVariant = 0x8000'0000'0000'0000U;
constexpr std::uint64_t kVariantMask = 0x3fff'ffff'ffff'ffffU;
constexpr std::uint64_t kCounterMax = (std::uint64_t{1} << UuidGenerator::kCounterBits) - 1;
constexpr std::uint64_t kCounterStartMax = kCounterMax / 2;

constexpr std::size_t kTextSize = 36;
constexpr char kDigits[] = "0123456789abcdef";
// The position of each byte's digits; the hyphens are between them.
constexpr std::array<std::size_t, 16> kPlaces{0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34};

}  // namespace

std::string toString(const Uuid& uuid) {
  std::string text(kTextSize, '-');
  Uuid rest = uuid;
  for (std::size_t index = kPlaces.size(); index-- > 0;) {
    std::uint64_t& word = index < kPlaces.size() / 2 ? rest.high : rest.low;
    text[kPlaces[index]] = kDigits[(word >> 4U) & 0xfU];
    text[kPlaces[index] + 1] = kDigits[word & 0xfU];
    word >>= 8U;
  }
  return text;
}

Uuid UuidGenerator::next(WallTime now, Random& random, std::int64_t key) {
  const std::uint64_t bits = random.next();
  const auto milliseconds = static_cast<std::uint64_t>(std::max<std::int64_t>(now.time_since_epoch().count(), 0));
  if (milliseconds > milliseconds_) {
    milliseconds_ = milliseconds;
    counter_ = bits & kCounterStartMax;
  } else if (++counter_ > kCounterMax) {
    // The counter has no room for more ids in this millisecond, or the clock stands still: run ahead of the clock.
    ++milliseconds_;
    counter_ = bits & kCounterStartMax;
  }
  // The counter uses some of the bits that the key replaces.
  const std::uint64_t free = bits & kVariantMask;
  Uuid uuid = compose(milliseconds_, counter_, free >> kKeyBits, key);
  if (key > kKeyMax) {
    uuid.low = kVariant | free;
  }
  return uuid;
}

Uuid UuidGenerator::compose(std::uint64_t milliseconds, std::uint64_t counter, std::uint64_t random,
                            std::int64_t key) noexcept {
  std::uint64_t digits = 0;
  for (unsigned place = 0; place < kKeyDigits; ++place, key /= 10) {
    digits |= static_cast<std::uint64_t>(key % 10) << (4U * place);
  }
  return {milliseconds << 16U | kVersion7 | counter, kVariant | random << kKeyBits | digits};
}

std::string randomUuid(Random& random) {
  return toString({(random.next() & ~0xf000ULL) | 0x4000U, kVariant | (random.next() & kVariantMask)});
}

}  // namespace ackbox::store
