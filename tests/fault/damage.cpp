#include "damage.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

namespace ackbox::testing {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kSector = 512;
constexpr std::size_t kByteBits = 8;

std::size_t below(std::size_t limit, std::mt19937_64& random) {
  return static_cast<std::size_t>(random() % limit);
}

void flip(std::string& bytes, std::size_t place, std::mt19937_64& random) {
  bytes[place] = static_cast<char>(static_cast<unsigned char>(bytes[place]) ^ (1U << below(kByteBits, random)));
}

std::string flipOfData(std::string& bytes, std::mt19937_64& random) {
  std::vector<std::size_t> places;
  for (std::size_t at = bytes.find(kDataMark); at != std::string::npos; at = bytes.find(kDataMark, at + 1)) {
    places.push_back(at);
  }
  if (places.empty()) {
    return {};
  }
  // A message's data is a few hundred bytes long, and the bytes before it name the row.
  constexpr std::size_t kBefore = 100;
  constexpr std::size_t kAround = 500;
  const std::size_t mark = places[below(places.size(), random)];
  const std::size_t place = std::min(mark - std::min(mark, kBefore) + below(kAround, random), bytes.size() - 1);
  flip(bytes, place, random);
  return "a bit of byte " + std::to_string(place);
}

void copy(const std::string& from, std::size_t source, std::string& to, std::size_t target, std::size_t count) {
  std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(source), count,
              to.begin() + static_cast<std::ptrdiff_t>(target));
}

std::string olderPage(std::string& bytes, const std::string& earlier, std::mt19937_64& random) {
  std::vector<std::size_t> changed;
  for (std::size_t at = 0; at + kPage <= std::min(bytes.size(), earlier.size()); at += kPage) {
    if (bytes.compare(at, kPage, earlier, at, kPage) != 0) {
      changed.push_back(at);
    }
  }
  if (changed.empty()) {
    return {};
  }
  const std::size_t at = changed[below(changed.size(), random)];
  copy(earlier, at, bytes, at, kPage);
  return "the page at " + std::to_string(at);
}

std::string change(DamageKind kind, std::string& bytes, const std::string& earlier, std::mt19937_64& random) {
  const std::size_t pages = bytes.size() / kPage;
  const std::size_t one = pages == 0 ? 0 : below(pages, random) * kPage;
  const std::size_t other = pages == 0 ? 0 : below(pages, random) * kPage;
  const std::size_t sector = below((bytes.size() + kSector - 1) / kSector, random) * kSector;
  const std::size_t sectorBytes = std::min(kSector, bytes.size() - sector);
  switch (kind) {
    case DamageKind::flippedBit: {
      const std::size_t place = below(bytes.size(), random);
      flip(bytes, place, random);
      return "a bit of byte " + std::to_string(place);
    }
    case DamageKind::flippedBitOfData:
      return flipOfData(bytes, random);
    case DamageKind::zeroedSector:
      std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(sector), sectorBytes, '\0');
      return "the sector at " + std::to_string(sector);
    case DamageKind::garbledSector:
      std::generate_n(bytes.begin() + static_cast<std::ptrdiff_t>(sector), sectorBytes,
                      [&] { return static_cast<char>(random()); });
      return "the sector at " + std::to_string(sector);
    case DamageKind::zeroedPage:
      std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(one), std::min(kPage, bytes.size() - one), '\0');
      return "the page at " + std::to_string(one);
    case DamageKind::cut:
      bytes.resize(below(bytes.size(), random));
      return "at " + std::to_string(bytes.size());
    case DamageKind::cutAtPage:
      bytes.resize(one);
      return "at " + std::to_string(one);
    case DamageKind::swappedPages:
    case DamageKind::misplacedPage: {
      if (pages == 0) {
        return {};
      }
      const std::string first = bytes.substr(one, kPage);
      if (kind == DamageKind::swappedPages) {
        copy(bytes, other, bytes, one, kPage);
      }
      copy(first, 0, bytes, other, kPage);
      return "the pages at " + std::to_string(one) + " and " + std::to_string(other);
    }
    case DamageKind::olderPage:
      return olderPage(bytes, earlier, random);
  }
  return {};
}

}  // namespace

std::string_view toString(DamageKind kind) noexcept {
  static constexpr std::array<std::string_view, kDamageKinds> kNames = {
      "flipped bit", "flipped bit of data", "zeroed sector", "zeroed page",    "garbled sector",
      "cut",         "cut at a page",       "swapped pages", "misplaced page", "older page"};
  return kNames.at(static_cast<std::size_t>(kind));
}

std::string inflict(DamageKind kind, std::string& bytes, const std::string& earlier, std::mt19937_64& random) {
  if (bytes.empty()) {
    return {};
  }
  const std::string before = bytes;
  std::string where = change(kind, bytes, earlier, random);
  return bytes == before ? std::string() : where;
}

}  // namespace ackbox::testing
