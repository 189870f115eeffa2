#include "store/digest.hpp"

#include <cstddef>

namespace ackbox::store {
namespace {

constexpr std::uint64_t kMultiplier = 0xc6a4a7935bd1e995ULL;
constexpr unsigned kShift = 47;

// The first `bytes` bytes of `text`, at most 8, with the lowest first.
std::uint64_t word(std::string_view text, std::size_t bytes) noexcept {
  std::uint64_t value = 0;
  for (std::size_t index = 0; index < bytes; ++index) {
    value |= std::uint64_t{static_cast<unsigned char>(text[index])} << (8 * index);
  }
  return value;
}

std::uint64_t murmur(std::string_view text, std::uint64_t seed) noexcept {
  std::uint64_t hash = seed ^ (text.size() * kMultiplier);
  for (; text.size() >= 8; text.remove_prefix(8)) {
    std::uint64_t mixed = word(text, 8) * kMultiplier;
    mixed ^= mixed >> kShift;
    hash = (hash ^ (mixed * kMultiplier)) * kMultiplier;
  }
  if (!text.empty()) {
    hash = (hash ^ word(text, text.size())) * kMultiplier;
  }
  hash = (hash ^ (hash >> kShift)) * kMultiplier;
  return hash ^ (hash >> kShift);
}

}  // namespace

std::uint64_t digestOf(std::string_view type, std::string_view data) noexcept {
  return murmur(data, murmur(type, 0));
}

}  // namespace ackbox::store
