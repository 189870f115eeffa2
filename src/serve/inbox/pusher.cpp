#include "serve/inbox/pusher.hpp"

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <cstdint>
#include <future>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "ackbox/error.hpp"
#include "base/hex.hpp"
#include "base/shown_url.hpp"
#include "base/timestamp.hpp"
#include "protocol/limits.hpp"
#include "protocol/secret_cache.hpp"
#include "protocol/text_rules.hpp"
#include "serve/http/tokens.hpp"
#include "serve/inbox/event_json.hpp"
#include "serve/inbox/push_entry.hpp"
#include "serve/inbox/push_verdict.hpp"
#include "serve/report.hpp"
#include "transport/http_client.hpp"
#include "transport/tls_context.hpp"
#include "transport/url.hpp"

namespace ackbox::serve {
namespace {

std::shared_ptr<const HttpSenderOptions> clientOptions(HttpSenderOptions&& options) {
  options.clock = options.clock ? options.clock : systemClock();
  return std::make_shared<const HttpSenderOptions>(std::move(options));
}

/// The id by which the application recognises a request: the frame's id, or a digest that is the same at each
/// repetition. A peer may use any text as an id, but a header cannot carry every text unchanged.
std::string webhookIdOf(const InboundFrame& frame) {
  if (protocol::isVisibleAscii(frame.id, protocol::kIdBytesMax)) {
    return frame.id;
  }
  return "sha256-" + hexOf(Tokens::digestOf(frame.source + '\n' + frame.id));
}

// The number of each entry's single wish.
constexpr std::uint64_t kWish = 1;
// More than the places of any pool.
constexpr std::size_t kAsManyAsFit = 4'096;
// The pause before secrets that cannot be used are checked again.
constexpr std::chrono::seconds kSecretsPause{30};
// The least pause before a token of OAuth2 is asked for again.
constexpr std::chrono::milliseconds kLeastPause{1'000};
constexpr int kUnauthorized = 401;

}  // namespace

/// A rule with the objects to apply it. The executor owns the members that change.
struct Pusher::Target {
  DeliveryRule rule;
  // Its URL in logs, waits and holders.
  std::string shown = {};
  transport::Url url;
  // Null for plain HTTP.
  std::shared_ptr<transport::TlsContext> tls;
  // Null if nothing is signed.
  std::unique_ptr<protocol::KeyCache> keys;
  // Null if it has no headers of the user's own.
  std::unique_ptr<protocol::HeaderCache> headers;
  // Of the token server. Null for plain HTTP.
  std::shared_ptr<transport::TlsContext> oauthTls;
  std::shared_ptr<DeferredDemand> demand = std::make_shared<DeferredDemand>();
  PushEntry entry;
  std::unique_ptr<Alarm> alarm;

  [[nodiscard]] std::string waitText(const std::string& cause) const {
    return "the application " + shown + ", which " + cause;
  }
};

/// One request. Owned by the executor.
class Pusher::Push : public std::enable_shared_from_this<Push> {
public:
  Push(Pusher& pusher, std::shared_ptr<Target> target, DeferredFrame frame)
      : pusher_(pusher),
        target_(std::move(target)),
        frame_(std::move(frame)),
        webhookId_(webhookIdOf(frame_.frame())),
        body_(eventJson(frame_.frame())),
        begunAt_(pusher.clock_->wallNow()) {}

  void start() {
    if (pusher_.onIdle_ || !frame_.progress()) {
      // The pusher drains, or the frame is not wanted any more.
      frame_.giveBack();
      end();
      return;
    }
    ++pusher_.requests_;
    if (!target_->rule.oauth) {
      post({});
      return;
    }
    // The requests of the pusher count from here on, so that a drain waits for the token.
    target_->rule.oauth->get({pusher_.client_, target_->oauthTls, nullptr},
                             [executor = pusher_.executor_, weak = weak_from_this()](const OauthGrant& grant) {
                               boost::asio::post(executor, [weak, grant] {
                                 if (const auto self = weak.lock()) {
                                   self->onGrant(grant);
                                 }
                               });
                             });
  }

  void addHolder(FrameWaits& waits) const {
    waits.holders.emplace(name(), "the application " + target_->shown + " since " + formatTimestamp(begunAt_));
  }

private:
  void onGrant(const OauthGrant& grant) {
    if (grant.isCancelled) {
      pusher_.requestEnded();
    } else if (grant.number == 0) {
      doNotAsk("is not asked: " + grant.cause, std::max(grant.pause, kLeastPause));
    } else {
      token_ = grant.number;
      post(grant.header);
    }
  }

  /// `token` is the header of a token of OAuth2; empty without `DeliveryRule::oauth`.
  void post(const Secret& token) {
    transport::HttpPost post;
    post.url = target_->url;
    post.tls = target_->tls;
    post.timeout = target_->rule.timeout;
    post.headers.emplace_back("Content-Type", "application/cloudevents+json");
    post.headers.emplace_back("webhook-id", webhookId_);
    if (target_->keys) {
      const auto keys = target_->keys->current();
      if (!keys->canSign()) {
        doNotAsk("is not asked: none of the secrets can sign", kSecretsPause);
        return;
      }
      const protocol::SignatureHeaders signature = keys->sign(webhookId_, body_, pusher_.clock_->wallNow());
      post.headers.emplace_back("webhook-timestamp", signature.timestamp);
      post.headers.emplace_back("webhook-signature", signature.signature);
    }
    if (target_->headers) {
      const auto headers = target_->headers->current();
      if (headers->isEmpty()) {
        doNotAsk("is not asked: its headers are gone, or cannot be read", kSecretsPause);
        return;
      }
      headers->addTo(post.headers);
    }
    if (token_ != 0) {
      protocol::OwnHeaders(std::span(&token, 1)).addTo(post.headers);
    }
    post.body = body_;
    pusher_.client_->asyncPost(std::move(post),
                               [executor = pusher_.executor_, weak = weak_from_this()](transport::HttpAnswer answer) {
                                 boost::asio::post(executor, [weak, answer = std::move(answer)] {
                                   if (const auto self = weak.lock()) {
                                     self->onAnswer(answer);
                                   }
                                 });
                               });
  }

  [[nodiscard]] PushEntry::Name name() const { return {frame_.frame().source, frame_.frame().id}; }

  void onAnswer(const transport::HttpAnswer& answer) {
    if (answer.end == transport::HttpEnd::cancelled) {
      // Cancelled by `close`: the frame is dropped.
      pusher_.requestEnded();
      return;
    }
    if (answer.status == kUnauthorized && token_ != 0 && !std::exchange(isRepeated_, true) &&
        target_->rule.oauth->refused(token_)) {
      pusher_.requestEnded();
      start();
      return;
    }
    settle(target_->entry.answered(name(), judgePush(answer, pusher_.clock_->wallNow()), pusher_.clock_->steadyNow()));
    pusher_.requestEnded();
  }

  void doNotAsk(const std::string& cause, std::chrono::milliseconds pause) {
    settle(target_->entry.notAsked(name(), cause, pause, pusher_.clock_->steadyNow()));
    pusher_.requestEnded();
  }

  void settle(PushEntry::Decision decision) {
    const std::string type = frame_.frame().type;
    if (decision.result) {
      frame_.finish(std::move(*decision.result));
    } else {
      frame_.giveBack("the application " + target_->entry.cause(), decision.pause);
    }
    const auto self = shared_from_this();
    end();
    pusher_.show(target_);
    // Last, because a sink may throw.
    if (decision.hasGone) {
      pusher_.reportGone(*target_, type);
    } else if (decision.isBack) {
      pusher_.reportBack(*target_);
    }
  }

  void end() { pusher_.pushes_.erase(shared_from_this()); }

  Pusher& pusher_;
  const std::shared_ptr<Target> target_;
  DeferredFrame frame_;
  const std::string webhookId_;
  const std::string body_;
  const WallTime begunAt_;
  // The number of the token of OAuth2; 0 without one.
  std::uint64_t token_ = 0;
  // With another token, after a 401.
  bool isRepeated_ = false;
};

Pusher::Pusher(const boost::asio::any_io_executor& executor, std::vector<DeliveryRule> rules,
               const HttpSenderOptions& options, LogSink log, std::shared_ptr<transport::HttpPoster> client)
    : executor_(executor),
      clock_(options.clock ? options.clock : systemClock()),
      log_(std::move(log)),
      client_(client ? std::move(client)
                     : std::make_shared<transport::HttpClient>(executor, clientOptions(HttpSenderOptions(options)))) {
  for (DeliveryRule& rule : rules) {
    auto target = std::make_shared<Target>();
    transport::ParsedUrl parsed = transport::parseUrl(rule.url);
    if (!parsed.url) {
      throw OptionError("url", parsed.error);
    }
    if (!parsed.url->isEncrypted && !parsed.url->isLoopback() && !rule.allowPlainHttp) {
      throw OptionError("url", "beyond this machine it must be https://, or `allowPlainHttp` be true");
    }
    target->url = std::move(*parsed.url);
    if (target->url.isEncrypted) {
      target->tls = std::make_shared<transport::TlsContext>(options.tls, clock_);
    }
    if (rule.secrets) {
      target->keys = std::make_unique<protocol::KeyCache>(rule.secrets, clock_, options.secretsGrace);
      if (!target->keys->current()->canSign()) {
        throw OptionError("secrets", "none of them can sign; add whsec_ or whsk_");
      }
    }
    if (rule.headers) {
      target->headers = std::make_unique<protocol::HeaderCache>(rule.headers, clock_, options.secretsGrace);
    }
    if (rule.oauth) {
      target->oauthTls = oauthTls(rule.oauth->rule(), options.tls, clock_);
    }
    target->shown = shownUrl(rule.url);
    target->rule = std::move(rule);
    target->alarm = clock_->makeAlarm(executor_);
    target->demand->want({.id = kWish, .types = "*", .sessions = "*", .count = kAsManyAsFit});
    targets_.push_back(std::move(target));
  }
}

Pusher::~Pusher() = default;

std::shared_ptr<Pusher::Target> Pusher::find(std::string_view type) const {
  for (const std::shared_ptr<Target>& target : targets_) {
    if (target->rule.fits(type)) {
      return target;
    }
  }
  return nullptr;
}

bool Pusher::takes(std::string_view type) const {
  return find(type) != nullptr;
}

void Pusher::push(DeferredFrame frame) {
  const std::shared_ptr<Target> target = find(frame.frame().type);
  if (!target) {
    // The frame was deferred under another configuration.
    frame.finish(HandlerResult::notNow("no application takes frames of this type", std::chrono::minutes(1)));
    return;
  }
  boost::asio::post(executor_, [self = shared_from_this(), target, frame = std::move(frame)] {
    if (!self->closed_) {
      const auto push = std::make_shared<Push>(*self, target, frame);
      self->pushes_.insert(push);
      push->start();
    }
  });
}

std::shared_ptr<DeferredDemand> Pusher::demand(std::size_t rule) const {
  return targets_.at(rule)->demand;
}

void Pusher::show(const std::shared_ptr<Target>& target) {
  const SteadyTime now = clock_->steadyNow();
  const std::size_t count = onIdle_ ? 0 : target->entry.room(now).value_or(kAsManyAsFit);
  target->demand->want({.id = kWish, .types = "*", .sessions = "*", .count = count});
  if (const std::optional<SteadyTime> probe = target->entry.nextProbe(); probe && *probe > now) {
    target->alarm->set(*probe, [weak = weak_from_this(), target] {
      if (const auto self = weak.lock()) {
        self->show(target);
      }
    });
  }
}

void Pusher::addWaits(FrameWaits& waits) const {
  for (const std::shared_ptr<Target>& target : targets_) {
    const PushEntry& entry = target->entry;
    waits.entries.push_back({.way = "push",
                             .types = target->rule.types,
                             .isAway = entry.awaySince().has_value(),
                             .waitsFor = entry.nextProbe() ? target->waitText(entry.cause()) : std::string()});
    entry.forEachWait([&](const PushEntry::Name& frame, const std::string& cause) {
      waits.frames.emplace(frame, FrameWaits::Wait{target->waitText(cause), entry.awaySince().has_value()});
    });
  }
  for (const std::shared_ptr<Push>& push : pushes_) {
    push->addHolder(waits);
  }
}

void Pusher::reportGone(const Target& target, const std::string& type) const {
  report(LogLevel::warning, "application-away", "the application does not take frames; they wait and are posted again",
         {LogField{"url", target.shown}, LogField{"type", type}, LogField{"cause", target.entry.cause()}});
}

void Pusher::reportBack(Target& target) const {
  const auto away = clock_->steadyNow() - target.entry.awaySince().value();
  const std::string seconds = std::to_string(std::chrono::duration_cast<std::chrono::seconds>(away).count());
  const std::string frames = std::to_string(target.entry.waited());
  target.entry.noteBack();
  report(LogLevel::info, "application-back", "the application answers again, and no frame waits for it any more",
         {LogField{"url", target.shown}, LogField{"away_s", seconds}, LogField{"frames", frames}});
}

void Pusher::report(LogLevel level, std::string_view event, std::string_view text,
                    const std::array<LogField, 3>& fields) const {
  serve::report(log_, *clock_, level, event, text, fields);
}

void Pusher::addApplications(std::vector<Application>& applications) const {
  const auto steady = clock_->steadyNow();
  const auto wall = clock_->wallNow();
  for (const std::shared_ptr<Target>& target : targets_) {
    Application& application = applications.emplace_back();
    application.types = target->rule.types;
    if (const std::optional<SteadyTime> since = target->entry.awaySince()) {
      application.awaySince = wall - std::chrono::duration_cast<std::chrono::milliseconds>(steady - *since);
      application.cause = target->waitText(target->entry.cause());
    }
  }
}

void Pusher::requestEnded() {
  --requests_;
  if (onIdle_ && requests_ == 0) {
    onIdle_();
  }
}

void Pusher::drain(std::chrono::milliseconds time) {
  const auto idle = std::make_shared<std::promise<void>>();
  boost::asio::post(executor_, [self = shared_from_this(), idle] {
    self->onIdle_ = [idle, isSet = false]() mutable {
      if (!std::exchange(isSet, true)) {
        idle->set_value();
      }
    };
    for (const std::shared_ptr<Target>& target : self->targets_) {
      self->show(target);
    }
    if (self->requests_ == 0) {
      self->onIdle_();
    }
  });
  idle->get_future().wait_for(time);
}

void Pusher::close() {
  client_->close();
  boost::asio::post(executor_, [self = shared_from_this()] {
    self->closed_ = true;
    self->pushes_.clear();
    for (const std::shared_ptr<Target>& target : self->targets_) {
      target->alarm->cancel();
    }
  });
}

}  // namespace ackbox::serve
