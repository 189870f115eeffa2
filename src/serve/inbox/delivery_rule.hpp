#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "ackbox/secret.hpp"
#include "base/pattern.hpp"
#include "serve/oauth/oauth_tokens.hpp"

namespace ackbox::serve {

/// A rule for which inbound frames go to an application, and the application's URL.
struct DeliveryRule {
  /// A type, or a prefix of types followed by `*`.
  std::string types = "*";
  /// `https://`; or `http://` to this machine, or where plain HTTP is allowed.
  std::string url = {};
  /// Allows plain HTTP to other machines, as in a private network of containers. Posted frames can be read there and,
  /// if nothing is signed, forged.
  bool allowPlainHttp = false;
  /// The secrets that sign each request. Without secrets, requests are not signed.
  SecretSource secrets = {};
  /// The headers that are added to each request, as `PeerOptions::headers`.
  SecretSource headers = {};
  /// The tokens of OAuth2 that are added to each request; null: none.
  std::shared_ptr<OauthTokens> oauth = {};
  /// The limit for one request, including its answer.
  std::chrono::milliseconds timeout = std::chrono::seconds(30);

  [[nodiscard]] bool fits(std::string_view type) const { return fitsPattern(types, type); }
};

}  // namespace ackbox::serve
