#pragma once

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

/// Cuts the object in `text` into its members without making values of them, so that data stays byte for byte and a
/// deep value costs nothing. Only as strict as it needs to be: the readers of the values check them.
[[nodiscard]] JsonSlices sliceObject(std::string_view text);

}  // namespace ackbox::cli
