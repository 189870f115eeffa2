#include "protocol/media_type.hpp"

#include <algorithm>

namespace ackbox::protocol {
namespace {

char lower(char letter) noexcept {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

bool sameWord(std::string_view left, std::string_view right) noexcept {
  return std::ranges::equal(left, right, {}, lower, lower);
}

bool endsWithWord(std::string_view text, std::string_view end) noexcept {
  return text.size() >= end.size() && sameWord(text.substr(text.size() - end.size()), end);
}

std::string_view trim(std::string_view text) noexcept {
  const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_last_not_of(" \t") + 1);
}

/// Cuts the text before the next `;` off `rest`.
std::string_view takePart(std::string_view& rest) noexcept {
  const std::size_t end = std::min(rest.find(';'), rest.size());
  const std::string_view part = trim(rest.substr(0, end));
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return part;
}

}  // namespace

bool isMediaType(std::string_view headerValue, std::string_view wanted) noexcept {
  std::string_view rest = headerValue;
  if (!sameWord(takePart(rest), wanted)) {
    return false;
  }
  while (!rest.empty()) {
    const std::string_view parameter = takePart(rest);
    const std::size_t equals = std::min(parameter.find('='), parameter.size());
    const std::string_view value = parameter.substr(std::min(equals + 1, parameter.size()));
    if (sameWord(parameter.substr(0, equals), "charset") && !sameWord(value, "utf-8") &&
        !sameWord(value, "\"utf-8\"")) {
      return false;
    }
  }
  return true;
}

bool isJsonMediaType(std::string_view value) noexcept {
  const std::string_view type = takePart(value);
  return sameWord(type, "application/json") || sameWord(type, "text/json") || endsWithWord(type, "+json");
}

bool startsWithWord(std::string_view text, std::string_view start) noexcept {
  return sameWord(text.substr(0, start.size()), start);
}

}  // namespace ackbox::protocol
