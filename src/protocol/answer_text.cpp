#include "protocol/answer_text.hpp"

#include <algorithm>
#include <optional>

#include "ackbox/visible.hpp"
#include "json/fault.hpp"
#include "json/reader.hpp"
#include "protocol/limits.hpp"
#include "protocol/media_type.hpp"
#include "protocol/text_rules.hpp"

namespace ackbox::protocol {
namespace {

/// The text for people in an answer's JSON; empty if there is no such text.
std::string detailIn(std::string_view json) {
  if (json::findFault(json, kAnswerDepthMax) != json::Fault::none) {
    return {};
  }
  std::optional<json::Members> members = json::Members::read(json::trim(json));
  for (const std::string_view key : {"detail", "error", "message", "title"}) {
    const std::optional<std::string_view> value = members ? members->find(key) : std::nullopt;
    if (value && json::kindOf(*value) == json::Kind::string) {
      return std::string(members->text(key).value_or(""));
    }
  }
  return {};
}

bool isOfKey(char letter) noexcept {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9') ||
         letter == '+' || letter == '/' || letter == '=' || letter == '-' || letter == '_';
}

/// A receiver may quote the key that it was configured with, and this text goes into files, logs and pages.
std::string withoutSecrets(std::string text) {
  for (const std::string_view prefix : {"whsec_", "whsk_"}) {
    for (std::size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix, at)) {
      at += prefix.size();
      const auto begin = text.begin() + static_cast<std::ptrdiff_t>(at);
      text.replace(begin, std::find_if_not(begin, text.end(), isOfKey), "...");
    }
  }
  return text;
}

}  // namespace

std::string textOfAnswer(std::string_view contentType, std::string_view body) {
  const bool isJson = isJsonMediaType(contentType);
  if (!isJson && !contentType.empty() && !startsWithWord(contentType, "text/plain")) {
    return {};
  }
  std::string text = isJson ? detailIn(body) : std::string();
  if (text.empty()) {
    text = body.substr(0, 2 * kAnswerTextBytesMax);
  }
  std::ranges::replace_if(
      text, [](char letter) { return letter == '\n' || letter == '\r' || letter == '\t'; }, ' ');
  text.erase(text.find_last_not_of(' ') + 1);
  text.erase(0, std::min(text.find_first_not_of(' '), text.size()));
  text = withoutSecrets(std::move(text));
  const std::string seen = visible(truncated(text, kAnswerTextBytesMax));
  return std::string(truncated(seen, kAnswerTextBytesMax));
}

}  // namespace ackbox::protocol
