#include "protocol/own_headers.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <set>
#include <string_view>

#include "ackbox/error.hpp"

namespace ackbox::protocol {
namespace {

constexpr std::size_t kHeadersMax = 16;
constexpr std::size_t kBytesMax = std::size_t{8} * 1024;

// Set by the sender, or of this connection alone.
constexpr std::array<std::string_view, 15> kTaken = {"connection",       "content-encoding",
                                                     "content-length",   "content-type",
                                                     "expect",           "host",
                                                     "keep-alive",       "te",
                                                     "traceparent",      "trailer",
                                                     "upgrade",          "proxy-authenticate",
                                                     "user-agent",       "range",
                                                     "transfer-encoding"};
constexpr std::array<std::string_view, 3> kTakenBeginnings = {"ce-", "outbox-", "webhook-"};

struct HeaderLine {
  std::string_view name;
  std::string_view value;
};

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

/// Without a colon, all of it is the name.
HeaderLine headerIn(std::string_view line) {
  const std::size_t colon = std::min(line.find(':'), line.size());
  return {line.substr(0, colon), trimmed(line.substr(std::min(colon + 1, line.size())))};
}

/// RFC 9110, section 5.6.2.
bool isToken(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char letter) {
    return std::isalnum(static_cast<unsigned char>(letter)) != 0 ||
           std::string_view("!#$%&'*+-.^_`|~").find(letter) != std::string_view::npos;
  });
}

bool isValue(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char letter) { return letter >= ' ' && letter <= '~'; });
}

std::string inLowerCase(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return lower;
}

bool isTaken(const std::string& name) {
  return std::ranges::find(kTaken, name) != kTaken.end() ||
         std::ranges::any_of(kTakenBeginnings, [&](std::string_view begin) { return name.starts_with(begin); });
}

/// What is wrong with a line, without its text, which may be a password; empty: nothing. Adds its name to `names`.
std::string problemOf(const HeaderLine& line, std::set<std::string>& names) {
  const std::string name = inLowerCase(line.name);
  if (!isToken(name) || !isValue(line.value)) {
    return "must be a header of visible ASCII, such as Authorization: Bearer TOKEN";
  }
  if (isTaken(name)) {
    return "cannot be " + name + ", which is set for each request";
  }
  return names.insert(name).second ? std::string() : "has the name of a header before it; a name is used once";
}

}  // namespace

OwnHeaders::OwnHeaders(std::span<const Secret> lines) : lines_(lines.begin(), lines.end()) {
  if (lines.size() > kHeadersMax) {
    throw OptionError("headers", "has " + std::to_string(lines.size()) + " of them", "at most 16");
  }
  std::set<std::string> names;
  std::size_t bytes = 0;
  for (std::size_t index = 0; index < lines.size(); ++index) {
    bytes += lines[index].reveal().size();
    if (const std::string problem = problemOf(headerIn(lines[index].reveal()), names); !problem.empty()) {
      throw OptionError("headers[" + std::to_string(index) + "]", problem);
    }
  }
  if (bytes > kBytesMax) {
    throw OptionError("headers", "has " + std::to_string(bytes) + " bytes", "at most 8 KiB");
  }
}

void OwnHeaders::addTo(std::vector<std::pair<std::string, std::string>>& headers) const {
  for (const Secret& secret : lines_) {
    const HeaderLine line = headerIn(secret.reveal());
    headers.emplace_back(line.name, line.value);
  }
}

}  // namespace ackbox::protocol
