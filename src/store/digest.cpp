#include "store/digest.hpp"

#include <algorithm>
#include <bit>
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

constexpr int kTurned = 29;

std::uint64_t mixed(std::uint64_t hash, std::uint64_t number) noexcept {
  return std::rotl(hash ^ number, kTurned) * kMultiplier;
}

std::uint64_t mixed(std::uint64_t hash, std::uint64_t first, std::uint64_t second) noexcept {
  return (std::rotl(hash ^ first, kTurned) + second) * kMultiplier;
}

}  // namespace

std::uint64_t digestOf(std::string_view type, std::string_view data) noexcept {
  return murmur(data, murmur(type, 0));
}

// Each step is a bijection of either word, so a change within one word is always detected. Costs a quarter of `murmur`.
RowDigest& RowDigest::add(std::string_view text) noexcept {
  constexpr std::size_t kWord = 8;
  constexpr std::size_t kTurn = 4 * kWord;
  std::uint64_t hash = mixed(hash_, text.size());
  // The last word overlaps the one before it.
  const std::string_view last = text.substr(text.size() - std::min(text.size(), kWord));
  for (; text.size() >= kTurn; text.remove_prefix(kTurn)) {
    hash = mixed(hash, word(text, kWord), word(text.substr(kWord), kWord));
    hash = mixed(hash, word(text.substr(2 * kWord), kWord), word(text.substr(3 * kWord), kWord));
  }
  for (; text.size() > kWord; text.remove_prefix(kWord)) {
    hash = mixed(hash, word(text, kWord));
  }
  hash_ = mixed(hash, last.size() == kWord ? word(last, kWord) : word(last, last.size()));
  return *this;
}

RowDigest& RowDigest::add(std::uint64_t number) noexcept {
  hash_ = mixed(hash_, number);
  return *this;
}

std::int64_t RowDigest::value() const noexcept {
  std::uint64_t hash = (hash_ ^ (hash_ >> kShift)) * kMultiplier;
  hash ^= hash >> kShift;
  return static_cast<std::int64_t>((hash ^ (hash >> 32U)) & static_cast<std::uint64_t>(kMask));
}

}  // namespace ackbox::store
