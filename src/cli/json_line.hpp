#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ackbox/clock.hpp"

namespace ackbox::cli {

/// Whether `text` stands in a JSON string as it is, and is ASCII that can be printed.
[[nodiscard]] bool isPlainJson(std::string_view text);

/// `text` as a JSON string in ASCII; bytes that are no UTF-8 become U+FFFD.
[[nodiscard]] std::string jsonText(std::string_view text);

/// The texts as a JSON array.
[[nodiscard]] std::string jsonList(const std::vector<std::string>& texts);

/// Valid JSON on one line, without characters that steer a terminal; its meaning stays.
[[nodiscard]] std::string oneLine(std::string_view json);

/// One JSON object on one line, in the order of the calls: what `--json` prints.
class JsonLine {
public:
  JsonLine& add(std::string_view key, std::string_view text) { return raw(key, jsonText(text)); }
  JsonLine& add(std::string_view key, const char* text) { return add(key, std::string_view(text)); }
  JsonLine& add(std::string_view key, const std::string& text) { return add(key, std::string_view(text)); }
  JsonLine& add(std::string_view key, bool value) { return raw(key, value ? "true" : "false"); }
  template <std::integral Integer>
  JsonLine& add(std::string_view key, Integer value) {
    return raw(key, std::to_string(value));
  }
  /// Milliseconds since 1970; null when there is none.
  JsonLine& add(std::string_view key, const std::optional<WallTime>& instant);
  /// `json` is valid JSON on one line.
  JsonLine& raw(std::string_view key, std::string_view json);

  [[nodiscard]] std::string text() const { return text_ + "}"; }

private:
  std::string text_ = "{";
};

}  // namespace ackbox::cli
