#include <algorithm>

#include "json/writer.hpp"
#include "protocol/limits.hpp"
#include "protocol/media_type.hpp"
#include "protocol/text_rules.hpp"
#include "protocol/wire.hpp"

namespace ackbox::protocol {
namespace {

// The length of "00", trace id, parent id and flags, with their dashes.
constexpr std::size_t kTraceparentLength = 55;

bool isHex(std::string_view text) noexcept {
  return std::ranges::all_of(
      text, [](char letter) { return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'f'); });
}

bool isId(std::string_view text) noexcept {
  return isHex(text) && text.find_first_not_of('0') != std::string_view::npos;
}

std::string_view withoutSpaces(std::string_view header) noexcept {
  header.remove_prefix(std::min(header.find_first_not_of(" \t"), header.size()));
  return header.substr(0, header.find_last_not_of(" \t") + 1);
}

bool isOctet(std::string_view text) noexcept {
  const std::optional<std::uint64_t> number = parseCounter(text);
  return number && *number <= 255;
}

/// `localhost`, `127.x.x.x` or `[::1]`, with or without a port.
bool isLoopbackHost(std::string_view host) noexcept {
  constexpr std::string_view kVersion6 = "[::1]";
  if (host.starts_with(kVersion6)) {
    host.remove_prefix(kVersion6.size());
    return host.empty() || host.front() == ':';
  }
  host = host.substr(0, host.find(':'));
  if (host.size() == 9 && startsWithWord(host, "localhost")) {
    return true;
  }
  if (!host.starts_with("127.")) {
    return false;
  }
  std::size_t octets = 0;
  while (true) {
    const std::size_t dot = std::min(host.find('.'), host.size());
    if (!isOctet(host.substr(0, dot)) || ++octets > 4) {
      return false;
    }
    if (dot == host.size()) {
      return octets == 4;
    }
    host.remove_prefix(dot + 1);
  }
}

}  // namespace

std::optional<InboundResponse> anonymousProblem(const InboundRequest& request) {
  if (request.fromBrowser) {
    return problem(403, "Forbidden", "an unsigned request of a browser is not taken: sign it, or send no Origin");
  }
  if (request.onLoopback && !request.host.empty() && !isLoopbackHost(request.host)) {
    return problem(403, "Forbidden", "an unsigned request must be for localhost or a loopback address: see its Host");
  }
  if (request.contentType.empty()) {
    return problem(415, "Unsupported media type", "an unsigned request must name its media type");
  }
  return std::nullopt;
}

std::optional<InboundResponse> versionProblem(std::string_view version) {
  const std::string_view given = withoutSpaces(version);
  const std::size_t dot = given.find('.');
  const bool isWellFormed =
      parseCounter(given.substr(0, dot)) && (dot == std::string_view::npos || parseCounter(given.substr(dot + 1)));
  if (given.empty() || (isWellFormed && given.substr(0, dot) == kVersion)) {
    return std::nullopt;
  }
  InboundResponse response;
  // Not 400, on which a sender gives up its messages one by one: this status holds the peer until an operator acts.
  response.status = 415;
  response.contentType = kMediaTypeProblem;
  json::ObjectWriter document(response.body);
  document.text("type", "about:blank");
  document.text("title", "Unsupported version");
  document.number("status", static_cast<std::uint64_t>(response.status));
  document.text("detail", "this outbox-version is not supported");
  document.raw("versions", "[\"" + std::string(kVersion) + "\"]");
  document.close();
  return response;
}

bool isTraceparent(std::string_view text) noexcept {
  if (text.size() < kTraceparentLength || text[2] != '-' || text[35] != '-' || text[52] != '-') {
    return false;
  }
  const std::string_view version = text.substr(0, 2);
  // Later versions may continue after another dash.
  const bool endsWell = text.size() == kTraceparentLength || (version != "00" && text[kTraceparentLength] == '-');
  return isHex(version) && version != "ff" && endsWell && isId(text.substr(3, 32)) && isId(text.substr(36, 16)) &&
         isHex(text.substr(53, 2)) && isVisibleAscii(text, kTraceparentBytesMax);
}

}  // namespace ackbox::protocol
