#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "ackbox/secret.hpp"
#include "transport/http_exchange.hpp"

namespace ackbox::serve {

/// How a daemon gets tokens for one peer or application (RFC 6749, 4.4).
struct OauthRule {
  /// `https://`; or `http://` to this machine.
  std::string tokenUrl = {};
  std::string clientId = {};
  /// Gives one secret; read at each fetch.
  SecretSource clientSecret = {};
  /// Empty: not sent.
  std::string scope = {};
  std::string audience = {};
};

/// The request for a token, but for its URL, TLS and networks. The client is authenticated by HTTP Basic (RFC 6749,
/// 2.3.1). Throws what `SecretSource::load` throws, and `Error` with `secretsUnreadable` unless there is one secret.
[[nodiscard]] transport::HttpPost tokenRequest(const OauthRule& rule);

/// A token server's answer.
struct TokenAnswer {
  /// The line `Authorization: Bearer TOKEN`.
  Secret header = {};
  std::optional<std::chrono::seconds> lifetime = {};
  /// Why there is no token, with a remedy; empty if there is one. Contains no text of the answer but the error code of
  /// RFC 6749, 5.2: a server may repeat a secret in its answer.
  std::string problem = {};
  bool isRefusal = false;
  std::optional<std::chrono::milliseconds> retryAfter = {};
};

[[nodiscard]] TokenAnswer readTokenAnswer(const transport::HttpAnswer& answer);

}  // namespace ackbox::serve
