#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ackbox::serve {

/// Something that is wrong in a configuration.
struct ConfigProblem {
  /// 0: it is not in the file but missing, or from the command line.
  std::size_t line = 0;
  /// Such as `peers[0].url`; empty: the file as a whole.
  std::string field = {};
  std::string what = {};
};

/// A value of a configuration, and the line that it stands on.
struct ConfigNode {
  enum class Kind : std::uint8_t { null, boolean, number, text, list, object };

  Kind kind = Kind::null;
  std::size_t line = 0;
  /// Of a number or a text; `true` or `false` of a boolean.
  std::string text = {};
  std::vector<ConfigNode> items = {};
  std::vector<std::pair<std::string, ConfigNode>> members = {};

  [[nodiscard]] const ConfigNode* find(std::string_view name) const;
};

/// Reads JSON, in which `//` and `/* */` begin comments. What is wrong is added to `problems`.
[[nodiscard]] ConfigNode parseConfig(std::string_view text, std::vector<ConfigProblem>& problems);

/// Sets one field, such as `outbox.max_pending`, to a value from the command line: JSON where it is that, otherwise
/// text. What is wrong is added to `problems`.
void overrideField(ConfigNode& root, std::string_view field, std::string_view value,
                   std::vector<ConfigProblem>& problems);

}  // namespace ackbox::serve
