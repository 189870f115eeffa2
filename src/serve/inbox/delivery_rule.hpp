#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "ackbox/secret.hpp"
#include "base/pattern.hpp"

namespace ackbox::serve {

/// Which inbound frames go to an application, and where it is.
struct DeliveryRule {
  /// A type, or the beginning of types with `*` behind it.
  std::string types = "*";
  /// `https://`; `http://` on this machine, or where plain HTTP is allowed.
  std::string url = {};
  /// Beyond this machine, as in a network of containers that nobody else is in. What is posted can be read there, and,
  /// where nothing is signed, forged.
  bool allowPlainHttp = false;
  /// Signs each request. None: nothing is signed.
  SecretSource secrets = {};
  /// For one request, its answer included.
  std::chrono::milliseconds timeout = std::chrono::seconds(30);

  [[nodiscard]] bool fits(std::string_view type) const { return fitsPattern(types, type); }
};

}  // namespace ackbox::serve
