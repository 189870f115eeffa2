#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ackbox/clock.hpp"
#include "ackbox/secret.hpp"
#include "ackbox/tls.hpp"
#include "base/mutex.hpp"
#include "serve/oauth/token_answer.hpp"
#include "serve/oauth/token_machine.hpp"
#include "transport/http_poster.hpp"

namespace ackbox::serve {

/// How the token server is reached.
struct OauthWay {
  std::shared_ptr<transport::HttpPoster> poster;
  /// Null for plain HTTP.
  std::shared_ptr<transport::TlsContext> tls;
  /// Null: all.
  std::shared_ptr<const transport::Networks> networks;
};

/// A token, or the reason why it is missing.
struct OauthGrant {
  /// The line `Authorization: Bearer TOKEN`.
  Secret header = {};
  /// The token's number, for `OauthTokens::refused`.
  std::uint64_t number = 0;
  /// Empty if there is a token.
  std::string cause = {};
  /// Without a token: when to ask again.
  std::chrono::milliseconds pause{0};
  bool isCancelled = false;
};

/// The tokens of one peer or application, by the client credentials of OAuth2. They are kept in memory alone.
///
/// Thread-safety: all members may be called from any thread.
class OauthTokens : public std::enable_shared_from_this<OauthTokens> {
public:
  using Use = std::function<void(const OauthGrant& grant)>;

  explicit OauthTokens(OauthRule rule, std::shared_ptr<Clock> clock = systemClock());

  [[nodiscard]] const OauthRule& rule() const noexcept { return rule_; }

  /// Calls `use` once: in this call, or when a fetch has ended, on the poster's thread.
  void get(const OauthWay& way, Use use) ACKBOX_EXCLUDES(mutex_);

  /// See `TokenMachine::refused`.
  [[nodiscard]] bool refused(std::uint64_t number) ACKBOX_EXCLUDES(mutex_);

  /// The client's secret, for `SecretWatch`: `load` throws if it cannot be read, or if no token can be fetched.
  [[nodiscard]] SecretSource watched() const;

private:
  void fetch(const OauthWay& way) ACKBOX_EXCLUDES(mutex_);
  void ended(TokenAnswer&& answer, bool isCancelled) ACKBOX_EXCLUDES(mutex_);
  [[nodiscard]] OauthGrant grant(SteadyTime now) const ACKBOX_REQUIRES(mutex_);

  const OauthRule rule_;
  const std::shared_ptr<Clock> clock_;
  mutable Mutex mutex_;
  TokenMachine machine_ ACKBOX_GUARDED_BY(mutex_);
  Secret header_ ACKBOX_GUARDED_BY(mutex_);
  std::vector<Use> waiting_ ACKBOX_GUARDED_BY(mutex_);
};

/// By the names of peers.
using TokensOfPeers = std::map<std::string, std::shared_ptr<OauthTokens>, std::less<>>;

/// How the token server of `rule` is reached. Throws `Error` with `invalidOption` if TLS cannot be used.
[[nodiscard]] std::shared_ptr<transport::TlsContext> oauthTls(const OauthRule& rule, const TlsClientOptions& tls,
                                                              const std::shared_ptr<Clock>& clock);

}  // namespace ackbox::serve
