#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ackbox::cli {

/// A JSON object's members as they stand in the text: the key with its quotes taken off, and the value's own bytes.
struct JsonSlices {
  std::vector<std::pair<std::string_view, std::string_view>> members;
  /// Empty: none. Otherwise what is wrong with the text.
  std::string problem;
};

/// Without the mark of UTF-8 that some programs begin a text with.
[[nodiscard]] std::string_view withoutMark(std::string_view text);

/// Cuts the object in `text` into its members without making values of them, so that data stays byte for byte and a
/// deep value costs nothing. A key that occurs twice is a problem: readers differ in which of the two counts. Otherwise
/// only as strict as it needs to be: the readers of the values check them.
[[nodiscard]] JsonSlices sliceObject(std::string_view text);

/// A JSON array's values as they stand in the text.
struct JsonElements {
  std::vector<std::string_view> values;
  /// Empty: none. Otherwise what is wrong with the text.
  std::string problem;
};

/// The same for the array in `text`, of at most `most` values.
[[nodiscard]] JsonElements sliceArray(std::string_view text, std::size_t most);

}  // namespace ackbox::cli
