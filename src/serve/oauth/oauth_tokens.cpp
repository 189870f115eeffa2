#include "serve/oauth/oauth_tokens.hpp"

#include <exception>
#include <utility>

#include "ackbox/error.hpp"
#include "ackbox/tls.hpp"
#include "transport/tls_context.hpp"
#include "transport/url.hpp"

namespace ackbox::serve {

OauthTokens::OauthTokens(OauthRule rule, std::shared_ptr<Clock> clock)
    : rule_(std::move(rule)), clock_(std::move(clock)) {}

void OauthTokens::get(const OauthWay& way, Use use) {
  OauthGrant now;
  bool isFetch = false;
  {
    const MutexLock lock(mutex_);
    const TokenMachine::Step step = machine_.asked(clock_->steadyNow());
    isFetch = step == TokenMachine::Step::fetch;
    if (isFetch || step == TokenMachine::Step::wait) {
      waiting_.push_back(std::exchange(use, nullptr));
    } else {
      now = grant(clock_->steadyNow());
    }
  }
  if (isFetch) {
    fetch(way);
  } else if (use) {
    use(now);
  }
}

void OauthTokens::fetch(const OauthWay& way) {
  transport::HttpPost post;
  try {
    post = tokenRequest(rule_);
  } catch (const std::exception& error) {
    ended({.problem = std::string("no token: ") + error.what(), .isRefusal = true}, false);
    return;
  }
  post.url = transport::parseUrl(rule_.tokenUrl).url.value();
  post.tls = way.tls;
  post.networks = way.networks;
  way.poster->asyncPost(std::move(post), [self = shared_from_this()](const transport::HttpAnswer& answer) {
    self->ended(readTokenAnswer(answer), answer.end == transport::HttpEnd::cancelled);
  });
}

void OauthTokens::ended(TokenAnswer&& answer, bool isCancelled) {
  std::vector<Use> waiting;
  OauthGrant made;
  {
    const MutexLock lock(mutex_);
    const SteadyTime now = clock_->steadyNow();
    if (isCancelled) {
      machine_.cancelled();
    } else if (answer.problem.empty()) {
      header_ = std::move(answer.header);
      machine_.fetched(answer.lifetime, now);
    } else {
      machine_.failed(std::move(answer.problem), answer.isRefusal, answer.retryAfter, now);
    }
    made = grant(now);
    made.isCancelled = isCancelled;
    waiting.swap(waiting_);
  }
  for (const Use& use : waiting) {
    use(made);
  }
}

OauthGrant OauthTokens::grant(SteadyTime now) const {
  if (machine_.isValid(now)) {
    return {.header = header_, .number = machine_.number()};
  }
  return {.cause = machine_.cause(), .pause = machine_.pause(now)};
}

bool OauthTokens::refused(std::uint64_t number) {
  const MutexLock lock(mutex_);
  return machine_.refused(number, clock_->steadyNow());
}

SecretSource OauthTokens::watched() const {
  return SecretSource::callback([self = shared_from_this()] {
    std::vector<Secret> secrets = self->rule_.clientSecret.load();
    const MutexLock lock(self->mutex_);
    if (!self->machine_.cause().empty()) {
      throw Error(Errc::secretsUnreadable, self->machine_.cause());
    }
    return secrets;
  });
}

std::shared_ptr<transport::TlsContext> oauthTls(const OauthRule& rule, const TlsClientOptions& tls,
                                                const std::shared_ptr<Clock>& clock) {
  const bool isEncrypted = transport::parseUrl(rule.tokenUrl).url.value().isEncrypted;
  return isEncrypted ? std::make_shared<transport::TlsContext>(tls, clock) : nullptr;
}

}  // namespace ackbox::serve
