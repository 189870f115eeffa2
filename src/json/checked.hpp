#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json/reader.hpp"

namespace ackbox::json {

/// Without the mark of UTF-8 that some programs begin a text with.
[[nodiscard]] std::string_view withoutMark(std::string_view text);

/// The members of an object that came from outside.
struct CheckedMembers {
  Members members;
  /// What is wrong with the text; empty: nothing, and `members` has all of it.
  std::string problem;
};

/// Checks the whole of `text`, see `findFault`, at any depth, and reads its members. A key that occurs twice is a
/// problem: readers differ in which of the two counts. Data stays byte for byte, and is not made a tree.
[[nodiscard]] CheckedMembers readObject(std::string_view text);

/// The elements of an array that came from outside.
struct CheckedElements {
  std::vector<std::string_view> values;
  /// What is wrong with the text; empty: nothing.
  std::string problem;
};

/// The same for an array of at most `most` elements.
[[nodiscard]] CheckedElements readArray(std::string_view text, std::size_t most);

/// A whole number from 0 on, written without fraction and exponent; nothing for another value.
[[nodiscard]] std::optional<std::uint64_t> wholeNumber(std::string_view value) noexcept;

}  // namespace ackbox::json
