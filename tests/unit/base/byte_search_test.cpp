// Goal: the search finds the first byte that is sought, however the text's length and the beginning fall on its blocks.
// Method: every length up to three strides, every beginning, every place, beside a search byte by byte.

#include "base/byte_search.hpp"

#include <doctest/doctest.h>

#include <string>

namespace byte_search_test {

using ackbox::findByte;

namespace {

std::size_t find(const std::string& text, std::size_t position) {
  return findByte(text, position, [](auto byte) { return (byte == '"') | (byte < ' '); });
}

}  // namespace

TEST_CASE("a byte is found at each place of texts of each length, from each beginning up to it") {
  constexpr std::size_t kLengthMax = 200;
  for (std::size_t length = 1; length <= kLengthMax; ++length) {
    std::string text(length, 'x');
    for (std::size_t place = 0; place < length; ++place) {
      text[place] = place % 2 == 0 ? '"' : '\x1f';
      for (std::size_t position = 0; position <= place; position += 1 + place / 16) {
        REQUIRE(find(text, position) == place);
      }
      REQUIRE(find(text, place) == place);
      text[place] = 'x';
    }
  }
}

TEST_CASE("what stands before the beginning is not found, and the first of several is") {
  for (std::size_t length = 0; length <= 150; ++length) {
    const std::string text(length, '"');
    for (std::size_t position = 0; position <= length; ++position) {
      REQUIRE(find(text, position) == position);
    }
    std::string behind = text + std::string(length, 'x');
    for (std::size_t position = length; position <= behind.size(); ++position) {
      REQUIRE(find(behind, position) == behind.size());
    }
  }
}

TEST_CASE("bytes above ASCII are not taken for controls") {
  const std::string text(100, '\xff');
  CHECK(find(text, 0) == text.size());
}

}  // namespace byte_search_test
