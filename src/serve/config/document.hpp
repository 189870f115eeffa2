#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ackbox::serve {

/// An error in a configuration.
struct ConfigProblem {
  /// The line in the file; 0 if the error is not in the file, or concerns the file as a whole.
  std::size_t line = 0;
  /// A field such as `peers[0].url`; empty if the error concerns the file as a whole.
  std::string field = {};
  std::string what = {};
  /// The option of the command line that set the value, such as `--set`; empty if the value is in the file.
  std::string option = {};
};

/// A value of a configuration, and its line.
struct ConfigNode {
  enum class Kind : std::uint8_t { null, boolean, number, text, list, object };

  Kind kind = Kind::null;
  std::size_t line = 0;
  /// The text of a number or a string; `true` or `false` for a boolean.
  std::string text = {};
  std::vector<ConfigNode> items = {};
  std::vector<std::pair<std::string, ConfigNode>> members = {};
  /// See `ConfigProblem`.
  std::string option = {};

  [[nodiscard]] const ConfigNode* find(std::string_view name) const;
  /// The value at a path such as `peers[0].url`, or the innermost existing value around it.
  [[nodiscard]] const ConfigNode& nearest(std::string_view path) const;
};

/// A field that the command line sets.
struct ConfigOverride {
  /// A path such as `outbox.max_pending`.
  std::string field = {};
  /// Taken as JSON if it is valid JSON, otherwise as text.
  std::string value = {};
  /// The option of the command line that set the field.
  std::string option = "--set";
};

/// Reads JSON, in which `//` and `/* */` begin comments. Adds errors to `problems`.
[[nodiscard]] ConfigNode parseConfig(std::string_view text, std::vector<ConfigProblem>& problems);

/// The same JSON without comments, on one line. Precondition: `parseConfig` has accepted it.
[[nodiscard]] std::string withoutComments(std::string_view text);

/// Sets one field. Adds errors to `problems`.
void overrideField(ConfigNode& root, const ConfigOverride& override, std::vector<ConfigProblem>& problems);

}  // namespace ackbox::serve
