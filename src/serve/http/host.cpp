#include "serve/http/host.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace ackbox::serve {
namespace {

bool isDigitOrLetter(char letter) {
  return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z');
}

bool isOfName(char letter) {
  return isDigitOrLetter(letter) || letter == '-' || letter == '.' || letter == '_';
}

bool isOfIpv6(char letter) {
  return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'f') || letter == ':' || letter == '.';
}

bool isPort(std::string_view text) {
  std::uint16_t port = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, port);
  return error == std::errc() && end == last;
}

}  // namespace

std::optional<std::string> hostNameOf(std::string_view text) {
  std::string name(text);
  std::ranges::transform(name, name.begin(), [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  });
  const bool isBracketed = name.starts_with('[');
  const std::size_t end = isBracketed ? name.find(']') : std::min(name.find(':'), name.size());
  if (end == std::string::npos) {
    return std::nullopt;
  }
  const std::string_view rest = std::string_view(name).substr(isBracketed ? end + 1 : end);
  if (!rest.empty() && !(rest.front() == ':' && isPort(rest.substr(1)))) {
    return std::nullopt;
  }
  const std::string_view host = std::string_view(name).substr(0, name.size() - rest.size());
  const bool isHost = isBracketed ? host.size() > 2 && std::ranges::all_of(host.substr(1, host.size() - 2), isOfIpv6)
                                  : !host.empty() && std::ranges::all_of(host, isOfName);
  return isHost ? std::optional(std::string(host)) : std::nullopt;
}

}  // namespace ackbox::serve
