#include "json/line.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "ackbox/visible.hpp"

namespace ackbox::json {

bool isPlain(std::string_view text) {
  return std::ranges::all_of(
      text, [](char letter) { return letter >= ' ' && letter < 0x7F && letter != '"' && letter != '\\'; });
}

std::string asString(std::string_view text) {
  if (isPlain(text)) {
    std::string json;
    json.reserve(text.size() + 2);
    return json.append(1, '"').append(text).append(1, '"');
  }
  return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

std::string list(const std::vector<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) {
    list += (list.empty() ? "" : ",") + asString(text);
  }
  return "[" + list + "]";
}

std::string oneLine(std::string_view json) {
  std::string line;
  line.reserve(json.size());
  for (const char byte : json) {
    // Only between tokens: JSON allows none of these bytes inside a string.
    const bool isBlank = byte == '\n' || byte == '\r' || byte == '\t';
    line += isBlank ? ' ' : byte;
  }
  // The remaining characters to escape are inside strings.
  return visible(line, Escapes::json);
}

Line& Line::add(std::string_view key, const std::optional<WallTime>& instant) {
  return raw(key, instant ? std::to_string(instant->time_since_epoch().count()) : "null");
}

Line& Line::raw(std::string_view key, std::string_view json) {
  if (text_.size() > 1) {
    text_ += ',';
  }
  text_ += '"';
  text_ += key;
  text_ += "\":";
  text_ += json;
  return *this;
}

}  // namespace ackbox::json
