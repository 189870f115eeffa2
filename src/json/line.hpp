#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ackbox/clock.hpp"

namespace ackbox::json {

/// Whether `text` needs no escapes in a JSON string, and is printable ASCII.
[[nodiscard]] bool isPlain(std::string_view text);

/// `text` as a JSON string in ASCII; invalid UTF-8 becomes U+FFFD.
[[nodiscard]] std::string asString(std::string_view text);

/// The texts as a JSON array.
[[nodiscard]] std::string list(const std::vector<std::string>& texts);

/// Valid JSON on one line, without characters that control a terminal; its meaning is unchanged.
[[nodiscard]] std::string oneLine(std::string_view json);

/// One JSON object on one line, with members in the order of the calls, as `--json` prints it.
class Line {
public:
  Line& add(std::string_view key, std::string_view text) { return raw(key, asString(text)); }
  Line& add(std::string_view key, const char* text) { return add(key, std::string_view(text)); }
  Line& add(std::string_view key, const std::string& text) { return add(key, std::string_view(text)); }
  Line& add(std::string_view key, bool value) { return raw(key, value ? "true" : "false"); }
  template <std::integral Integer>
  Line& add(std::string_view key, Integer value) {
    return raw(key, std::to_string(value));
  }
  /// As milliseconds since 1970, or null.
  Line& add(std::string_view key, const std::optional<WallTime>& instant);
  /// `json` is valid JSON on one line.
  Line& raw(std::string_view key, std::string_view json);

  [[nodiscard]] std::string text() const { return text_ + "}"; }

private:
  std::string text_ = "{";
};

}  // namespace ackbox::json
