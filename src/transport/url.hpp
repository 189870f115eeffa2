#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ackbox::transport {

/// Where to connect and what to ask for.
struct Url {
  bool isEncrypted = false;
  /// A name or an address; an IPv6 address is written without its brackets.
  std::string host;
  std::uint16_t port = 80;
  /// Path and query, never empty.
  std::string target = "/";

  /// `host:port` as in a `Host` header; also the key of keep-alive connections.
  [[nodiscard]] std::string authority() const;

  /// Whether the host names this machine: `localhost`, an address in 127.0.0.0/8, or `::1`.
  [[nodiscard]] bool isLoopback() const;
};

/// A URL, or a sentence that says what is wrong with the text.
struct ParsedUrl {
  std::optional<Url> url;
  std::string error;
};

/// Reads `http[s]://host[:port][/path][?query]` and no other form: no userinfo, no fragment, no spaces.
[[nodiscard]] ParsedUrl parseUrl(std::string_view text);

}  // namespace ackbox::transport
