#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "ackbox/clock.hpp"
#include "base/mutex.hpp"
#include "serve/http/tokens.hpp"

namespace ackbox::serve {

/// Browsers that exchanged a token for a cookie. The cookie is random and ends after twelve hours, or with the process;
/// of the token its digest is kept, which is looked up among the tokens at each request, so that a token that is
/// revoked ends its logins.
///
/// Thread-safety: all members may be called from any thread.
class Logins {
public:
  /// `isSecure`: browsers send the cookie over TLS alone.
  Logins(std::shared_ptr<Clock> clock, bool isSecure);

  /// Returns the value of `Set-Cookie`. Of more than 1,000 logins the oldest ends. Throws `Error` where the machine has
  /// no randomness.
  [[nodiscard]] std::string begin(const Tokens::Digest& token);

  /// The digest of the token that the cookies of a request were exchanged for. `cookies`: the header `Cookie`.
  [[nodiscard]] std::optional<Tokens::Digest> find(std::string_view cookies) const;

  /// Returns the value of `Set-Cookie` that takes the cookie away.
  [[nodiscard]] std::string end(std::string_view cookies);

private:
  struct Login {
    Tokens::Digest token;
    SteadyTime endsAt;
  };
  [[nodiscard]] std::string cookie(std::string_view value, std::chrono::seconds age) const;

  const std::shared_ptr<Clock> clock_;
  const bool isSecure_;
  mutable Mutex mutex_;
  // By the digest of the cookie, so that how long a look takes says nothing of it.
  std::map<Tokens::Digest, Login> logins_ ACKBOX_GUARDED_BY(mutex_);
};

}  // namespace ackbox::serve
