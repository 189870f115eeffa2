#include "transport/url.hpp"

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <charconv>

#include "base/shown_url.hpp"

namespace ackbox::transport {
namespace {

constexpr std::size_t kUrlBytesMax = 2048;
constexpr std::size_t kHostBytesMax = 253;
constexpr std::string_view kLocalhost = "localhost";

bool isAlphanumeric(char character) {
  return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') ||
         (character >= '0' && character <= '9');
}

bool isNameCharacter(char character) {
  return isAlphanumeric(character) || character == '-' || character == '.' || character == '_';
}

bool isIpv6Character(char character) {
  return (character >= '0' && character <= '9') || (character >= 'a' && character <= 'f') ||
         (character >= 'A' && character <= 'F') || character == ':' || character == '.';
}

// Printable ASCII without the space: the characters that a request line may hold unescaped.
bool isTargetCharacter(char character) {
  return character > ' ' && character <= '~';
}

ParsedUrl refuse(std::string_view text, std::string_view why) {
  // The URL may carry a secret in its userinfo, and is not repeated in that case.
  std::string error =
      text.find('@') == std::string_view::npos ? "URL '" + std::string(shownUrl(text).substr(0, 200)) + "': " : "";
  return {.url = std::nullopt, .error = error.append(why)};
}

bool startsWithIgnoringCase(std::string_view text, std::string_view lowerPrefix) {
  return text.size() >= lowerPrefix.size() &&
         std::equal(lowerPrefix.begin(), lowerPrefix.end(), text.begin(), [](char expected, char given) {
           return given >= 'A' && given <= 'Z' ? expected == given - 'A' + 'a' : expected == given;
         });
}

std::optional<std::uint16_t> parsePort(std::string_view digits) {
  std::uint16_t port = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stopped, error] = std::from_chars(digits.data(), end, port);
  if (error != std::errc() || stopped != end || port == 0) {
    return std::nullopt;
  }
  return port;
}

}  // namespace

std::string Url::authority() const {
  const bool isIpv6 = host.find(':') != std::string::npos;
  std::string made = isIpv6 ? "[" + host + "]" : host;
  return made.append(":").append(std::to_string(port));
}

bool Url::isLoopback() const {
  boost::system::error_code notNumeric;
  const boost::asio::ip::address address = boost::asio::ip::make_address(host, notNumeric);
  return notNumeric ? host.size() == kLocalhost.size() && startsWithIgnoringCase(host, kLocalhost)
                    : address.is_loopback();
}

ParsedUrl parseUrl(std::string_view text) {
  if (text.size() > kUrlBytesMax) {
    return refuse(text, "it is longer than 2,048 bytes");
  }
  Url url;
  url.isEncrypted = startsWithIgnoringCase(text, "https://");
  if (!url.isEncrypted && !startsWithIgnoringCase(text, "http://")) {
    return refuse(text, "it does not begin with http:// or https://");
  }
  url.port = url.isEncrypted ? 443 : 80;
  const std::string_view rest = text.substr(text.find("//") + 2);
  const std::size_t authorityEnd = std::min(rest.find_first_of("/?#"), rest.size());
  std::string_view authority = rest.substr(0, authorityEnd);
  const std::string_view target = rest.substr(authorityEnd);
  if (authority.find('@') != std::string_view::npos) {
    return refuse(text, "a URL with a user name or password is not accepted");
  }

  std::string_view portPart;
  if (!authority.empty() && authority.front() == '[') {
    const std::size_t closing = authority.find(']');
    if (closing == std::string_view::npos) {
      return refuse(text, "the bracket of its IPv6 address is not closed");
    }
    url.host = authority.substr(1, closing - 1);
    portPart = authority.substr(closing + 1);
    if (url.host.find(':') == std::string::npos || !std::all_of(url.host.begin(), url.host.end(), isIpv6Character)) {
      return refuse(text, "the text in brackets is not an IPv6 address");
    }
  } else {
    const std::size_t colon = std::min(authority.find(':'), authority.size());
    url.host = authority.substr(0, colon);
    portPart = authority.substr(colon);
    if (url.host.empty() || url.host.size() > kHostBytesMax ||
        !std::all_of(url.host.begin(), url.host.end(), isNameCharacter)) {
      return refuse(text, "its host is empty, too long, or has a character that no host has");
    }
  }
  if (!portPart.empty()) {
    const std::optional<std::uint16_t> port =
        portPart.front() == ':' ? parsePort(portPart.substr(1)) : std::optional<std::uint16_t>();
    if (!port) {
      return refuse(text, "its port is not a number from 1 to 65535");
    }
    url.port = *port;
  }
  if (target.find('#') != std::string_view::npos || !std::all_of(target.begin(), target.end(), isTargetCharacter)) {
    return refuse(text, "its path has a fragment, a blank or a character that must be percent-encoded");
  }
  if (!target.empty()) {
    url.target = target.front() == '?' ? "/" + std::string(target) : std::string(target);
  }
  return {.url = std::move(url), .error = {}};
}

}  // namespace ackbox::transport
