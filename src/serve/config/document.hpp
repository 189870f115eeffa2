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
  /// Of the file; 0: it is not in the file, or the file as a whole is wrong.
  std::size_t line = 0;
  /// Such as `peers[0].url`; empty: the file as a whole.
  std::string field = {};
  std::string what = {};
  /// The option of the command line that it came with, such as `--set`; empty: it is in the file.
  std::string option = {};
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
  /// See `ConfigProblem`.
  std::string option = {};

  [[nodiscard]] const ConfigNode* find(std::string_view name) const;
  /// The value at a path such as `peers[0].url`, or the innermost one around it that is there.
  [[nodiscard]] const ConfigNode& nearest(std::string_view path) const;
};

/// A field that the command line sets.
struct ConfigOverride {
  /// Such as `outbox.max_pending`.
  std::string field = {};
  /// JSON where it is that, otherwise text.
  std::string value = {};
  /// How it was given.
  std::string option = "--set";
};

/// Reads JSON, in which `//` and `/* */` begin comments. What is wrong is added to `problems`.
[[nodiscard]] ConfigNode parseConfig(std::string_view text, std::vector<ConfigProblem>& problems);

/// Sets one field. What is wrong is added to `problems`.
void overrideField(ConfigNode& root, const ConfigOverride& override, std::vector<ConfigProblem>& problems);

}  // namespace ackbox::serve
