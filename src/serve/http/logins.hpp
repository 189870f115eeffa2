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

/// Browsers that exchanged a token for a cookie. The cookie is random and ends after twelve hours, or with the process;
/// of the token its digest is kept, which is looked up among the tokens at each request, so that a token that is
/// revoked ends its logins.
///
/// Thread-safety: `keysOf`, `find`, `keep` and `mayFail` may be called from any thread, the others on the executor
/// only.
class Logins {
public:
  /// What a cookie is known by: its digest, so that how long a look takes says nothing of it.
  using Key = Tokens::Digest;

  /// `executor` runs one thing at a time. `cookieName`: browsers send a cookie to all ports of a host, so that each
  /// daemon needs a name of its own. `isSecure`: browsers send it over TLS alone.
  Logins(const boost::asio::any_io_executor& executor, std::shared_ptr<Clock> clock, std::string cookieName,
         bool isSecure);
  ~Logins();

  /// To be called before there are logins: `ended` is called on the executor when some have ended.
  void setEnded(std::function<void()> ended);

  /// Returns the value of `Set-Cookie`. Of more than 1,000 logins the oldest ends. Throws `Error` where the machine has
  /// no randomness.
  [[nodiscard]] std::string begin(const Tokens::Digest& token);

  /// Of our cookie among those of a request's header `Cookie`. A browser sends several where a proxy shows the page at
  /// several paths.
  [[nodiscard]] std::vector<Key> keysOf(std::string_view cookies) const;
  /// The digest of the token that the cookie was exchanged for; nothing: there is no such login, or it has ended.
  [[nodiscard]] std::optional<Tokens::Digest> find(const Key& cookie) const;

  /// Ends the logins of tokens that are not among these. One that is put back needs a new login.
  void keep(const Tokens& tokens);

  /// Ends all logins of `cookies`, the header `Cookie`. Returns the value of `Set-Cookie` that takes the cookie away.
  [[nodiscard]] std::string end(std::string_view cookies);

  /// To be asked at each login that failed: whether that may be logged and answered as such. Of ten at once and then
  /// one a second it may.
  [[nodiscard]] bool mayFail();

private:
  struct Login {
    Tokens::Digest token;
    SteadyTime endsAt;
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
