#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ackbox/clock.hpp"
#include "base/mutex.hpp"
#include "serve/http/failure_rate.hpp"
#include "serve/http/tokens.hpp"

namespace ackbox::serve {

/// Browsers that exchanged a token for a cookie. The cookie is random and expires after twelve hours, or with the
/// process. A login keeps its token's digest and looks it up among the tokens at each request, so that revoking a token
/// ends its logins.
///
/// Thread-safety: `keysOf`, `find`, `keep` and `mayFail` may be called from any thread, the other members on the
/// executor only.
class Logins {
public:
  /// A cookie's digest. Cookies are looked up by it, so that the time of a lookup reveals nothing about them.
  using Key = Tokens::Digest;

  /// `executor` must be serial. `cookieName`: browsers send a cookie to all ports of a host, so that each daemon needs
  /// its own name. `isSecure`: browsers send the cookie over TLS only.
  Logins(const boost::asio::any_io_executor& executor, std::shared_ptr<Clock> clock, std::string cookieName,
         bool isSecure);
  ~Logins();

  /// Must be called before there are logins: `ended` is called on the executor after logins have ended.
  void setEnded(std::function<void()> ended);

  /// Returns the value of `Set-Cookie`. Beyond 1,000 logins, the oldest ends. Throws `Error` if the system has no
  /// randomness.
  [[nodiscard]] std::string begin(const Tokens::Digest& token);

  /// The values of our cookie in the request's `Cookie` header, as keys. A browser sends several if a proxy serves the
  /// page under several paths.
  [[nodiscard]] std::vector<Key> keysOf(std::string_view cookies) const;
  /// The digest of the token that the cookie was exchanged for; nothing if the login is unknown or has ended.
  [[nodiscard]] std::optional<Tokens::Digest> find(const Key& cookie) const;

  /// Ends the logins of tokens that are not in `tokens`. A token that is added again needs a new login.
  void keep(const Tokens& tokens);

  /// Ends all logins in `cookies`, the `Cookie` header. Returns the value of `Set-Cookie` that deletes the cookie.
  [[nodiscard]] std::string end(std::string_view cookies);

  /// Must be called for each failed login: returns whether to log it and answer it as such. Permits ten at once, and
  /// then one a second.
  [[nodiscard]] bool mayFail();

private:
  struct Login {
    Tokens::Digest token = {};
    SteadyTime endsAt = {};
  };
  [[nodiscard]] std::string cookie(std::string_view value, std::chrono::seconds age) const;
  void arm() ACKBOX_EXCLUDES(mutex_);
  void onEnd();

  const std::shared_ptr<Clock> clock_;
  const std::string cookieName_;
  const bool isSecure_;
  // Owned by the executor.
  std::unique_ptr<Alarm> alarm_;
  std::function<void()> ended_;

  mutable Mutex mutex_;
  std::map<Key, Login> logins_ ACKBOX_GUARDED_BY(mutex_);
  FailureRate failures_ ACKBOX_GUARDED_BY(mutex_);
};

}  // namespace ackbox::serve
