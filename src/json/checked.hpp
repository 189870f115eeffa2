#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json/reader.hpp"

namespace ackbox::json {

/// `text` without a leading UTF-8 byte order mark, which some programs write.
[[nodiscard]] std::string_view withoutMark(std::string_view text);

/// The members of an object from outside.
struct CheckedMembers {
  Members members;
  /// The problem of the text; empty: there is no problem, and `members` is complete.
  std::string problem;
};

/// Checks the whole of `text`, see `findFault`, at any depth, and reads its members. A key that occurs twice is a
/// problem: readers differ in which one counts. Values keep their bytes, and are not parsed into a tree.
[[nodiscard]] CheckedMembers readObject(std::string_view text);

/// The elements of an array from outside.
struct CheckedElements {
  std::vector<std::string_view> values;
  /// The problem of the text; empty: there is no problem.
  std::string problem;
};

/// Does the same for an array of at most `most` elements.
[[nodiscard]] CheckedElements readArray(std::string_view text, std::size_t most);

/// A whole number from 0 on, written without fraction or exponent; nothing for another value.
[[nodiscard]] std::optional<std::uint64_t> wholeNumber(std::string_view value) noexcept;

}  // namespace ackbox::json
