#include "serve/inbox/pusher.hpp"

#include <array>
#include <boost/asio/post.hpp>
#include <cstdint>
#include <future>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "ackbox/error.hpp"
#include "protocol/key_cache.hpp"
#include "protocol/limits.hpp"
#include "protocol/text_rules.hpp"
#include "serve/http/tokens.hpp"
#include "serve/inbox/event_json.hpp"
#include "serve/inbox/push_verdict.hpp"
#include "transport/http_client.hpp"
#include "transport/tls_context.hpp"
#include "transport/url.hpp"

namespace ackbox::serve {
namespace {

std::shared_ptr<const HttpSenderOptions> clientOptions(HttpSenderOptions&& options) {
  options.clock = options.clock ? options.clock : systemClock();
  return std::make_shared<const HttpSenderOptions>(std::move(options));
}

/// What the application knows a request by: the frame's id, or one of our making, the same at each repetition. A peer
/// may give any text as an id, and many a text is changed on its way in a header, or is not allowed in one.
std::string webhookIdOf(const InboundFrame& frame) {
  if (protocol::isVisibleAscii(frame.id, protocol::kIdBytesMax)) {
    return frame.id;
  }
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string id = "sha256-";
  for (const std::uint8_t byte : Tokens::digestOf(frame.source + '\n' + frame.id)) {
    id += {kHex[byte >> 4U], kHex[byte & 15U]};
  }
  return id;
}

// Before secrets that cannot sign are looked at again.
constexpr std::chrono::seconds kUnsignedPause{30};

}  // namespace

/// A rule, ready to be used. What changes is owned by the executor.
struct Pusher::Target {
  DeliveryRule rule;
  transport::Url url;
  // Null for plain HTTP.
  std::shared_ptr<transport::TlsContext> tls;
  // Null: nothing is signed.
  std::unique_ptr<protocol::KeyCache> keys;
  // Frames that the application does not take.
  std::size_t waiting = 0;
  // Absent: it takes what it gets.
  std::optional<SteadyTime> awaySince = {};

  [[nodiscard]] std::string waitText(const std::string& why) const {
    return "the application " + rule.url + ", which " + why;
  }

  // What was known against it last.
  std::string cause = {};
  // Frames that have waited since then.
  std::size_t waited = 0;
};

/// One frame on its way. Owned by the executor.
class Pusher::Push : public std::enable_shared_from_this<Push> {
public:
  Push(Pusher& pusher, std::shared_ptr<Target> target, DeferredFrame frame)
      : pusher_(pusher),
        target_(std::move(target)),
        frame_(std::move(frame)),
        webhookId_(webhookIdOf(frame_.frame())),
        body_(eventJson(frame_.frame())),
        alarm_(pusher.clock_->makeAlarm(pusher.executor_)) {}

  void start() {
    if (pusher_.onIdle_) {
      // Draining: it stays as it is until the handler's end, and is charged nothing.
      return;
    }
    if (!frame_.progress()) {
      endWait();
      end();
      return;
    }
    transport::HttpPost post;
    post.url = target_->url;
    post.tls = target_->tls;
    post.timeout = target_->rule.timeout;
    post.headers.emplace_back("Content-Type", "application/cloudevents+json");
    post.headers.emplace_back("webhook-id", webhookId_);
    if (target_->keys) {
      const auto keys = target_->keys->current();
      if (!keys->canSign()) {
        waitFor(kUnsignedPause, "is not asked: none of the secrets can sign");
        return;
      }
      const protocol::SignatureHeaders signature = keys->sign(webhookId_, body_, pusher_.clock_->wallNow());
      post.headers.emplace_back("webhook-timestamp", signature.timestamp);
      post.headers.emplace_back("webhook-signature", signature.signature);
    }
    post.body = body_;
    ++pusher_.requests_;
    pusher_.client_->asyncPost(std::move(post),
                               [executor = pusher_.executor_, weak = weak_from_this()](transport::HttpAnswer answer) {
                                 boost::asio::post(executor, [weak, answer = std::move(answer)] {
                                   if (const auto self = weak.lock()) {
                                     self->onAnswer(answer);
                                   }
                                 });
                               });
  }

  void addWait(FrameWaits& waits) const {
    FrameWaits::Name name(frame_.frame().source, frame_.frame().id);
    if (cause_.empty()) {
      waits.holders.emplace(std::move(name), "the application " + target_->rule.url);
    } else {
      waits.frames.emplace(std::move(name), FrameWaits::Wait{target_->waitText(cause_), true});
    }
  }

private:
  void onAnswer(const transport::HttpAnswer& answer) {
    if (answer.end == transport::HttpEnd::cancelled) {
      // By `close`: what is left is given up.
      pusher_.requestEnded();
      return;
    }
    PushVerdict verdict = judgePush(answer, failures_, pusher_.clock_->wallNow());
    if (!verdict.result) {
      pusher_.requestEnded();
      waitFor(verdict.pause, std::move(verdict.cause));
      return;
    }
    frame_.finish(std::move(*verdict.result));
    pusher_.requestEnded();
    endWait();
    end();
    if (answer.end == transport::HttpEnd::answered) {
      noteAnswer();
    }
  }

  void waitFor(std::chrono::milliseconds pause, std::string cause) {
    const SteadyTime now = pusher_.clock_->steadyNow();
    alarm_->set(now + pause, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) {
        self->start();
      }
    });
    ++failures_;
    if (cause_.empty()) {
      ++target_->waiting;
      ++target_->waited;
    }
    cause_ = std::move(cause);
    target_->cause = cause_;
    if (!target_->awaySince) {
      target_->awaySince = now;
      // Last, because a sink may throw.
      report(LogLevel::warning, "application-away",
             "the application does not take frames; they are pushed again, and nothing is charged to them",
             {LogField{"url", target_->rule.url}, LogField{"type", frame_.frame().type}, LogField{"cause", cause_}});
    }
  }

  void endWait() {
    if (!std::exchange(cause_, {}).empty()) {
      --target_->waiting;
    }
  }

  // It is not back while other frames wait: one that is not what was configured may take some of them.
  void noteAnswer() {
    if (!target_->awaySince || target_->waiting > 0) {
      return;
    }
    const auto away = pusher_.clock_->steadyNow() - *std::exchange(target_->awaySince, std::nullopt);
    const std::string seconds = std::to_string(std::chrono::duration_cast<std::chrono::seconds>(away).count());
    const std::string frames = std::to_string(std::exchange(target_->waited, 0));
    report(LogLevel::info, "application-back", "the application answers again, and no frame waits for it any more",
           {LogField{"url", target_->rule.url}, LogField{"away_s", seconds}, LogField{"frames", frames}});
  }

  void report(LogLevel level, std::string_view event, std::string_view text,
              const std::array<LogField, 3>& fields) const {
    if (!pusher_.log_) {
      return;
    }
    LogRecord record;
    record.level = level;
    record.at = pusher_.clock_->wallNow();
    record.event = event;
    record.text = text;
    record.fields = fields;
    pusher_.log_(record);
  }

  void end() { pusher_.pushes_.erase(shared_from_this()); }

  Pusher& pusher_;
  const std::shared_ptr<Target> target_;
  DeferredFrame frame_;
  const std::string webhookId_;
  const std::string body_;
  const std::unique_ptr<Alarm> alarm_;
  unsigned failures_ = 0;
  // What the application does instead of taking it; empty: nothing is known against it.
  std::string cause_;
};

Pusher::Pusher(const boost::asio::any_io_executor& executor, std::vector<DeliveryRule> rules,
               const HttpSenderOptions& options, LogSink log)
    : executor_(executor),
      clock_(options.clock ? options.clock : systemClock()),
      log_(std::move(log)),
      client_(std::make_shared<transport::HttpClient>(executor, clientOptions(HttpSenderOptions(options)))) {
  for (DeliveryRule& rule : rules) {
    auto target = std::make_shared<Target>();
    transport::ParsedUrl parsed = transport::parseUrl(rule.url);
    if (!parsed.url) {
      throw Error(Errc::invalidOption, "deliver: " + rule.url + ": " + parsed.error);
    }
    if (!parsed.url->isEncrypted && !parsed.url->isLoopback() && !rule.allowPlainHttp) {
      throw Error(Errc::invalidOption,
                  "deliver: " + rule.url + ": beyond this machine it must be https://, or allow_plain_http be true");
    }
    target->url = std::move(*parsed.url);
    if (target->url.isEncrypted) {
      target->tls = std::make_shared<transport::TlsContext>(options.tls, clock_);
    }
    if (rule.secrets) {
      target->keys = std::make_unique<protocol::KeyCache>(rule.secrets, clock_, options.secretsGrace);
      if (!target->keys->current()->canSign()) {
        throw Error(Errc::invalidOption, "deliver: " + rule.url + ": none of the secrets can sign");
      }
    }
    target->rule = std::move(rule);
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
    // It was deferred under another configuration.
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

void Pusher::addWaits(FrameWaits& waits) const {
  for (const std::shared_ptr<Target>& target : targets_) {
    waits.entries.push_back({.way = "push", .types = target->rule.types, .isAway = target->waiting > 0});
  }
  for (const std::shared_ptr<Push>& push : pushes_) {
    push->addWait(waits);
  }
}

void Pusher::addApplications(std::vector<Application>& applications) const {
  const auto steady = clock_->steadyNow();
  const auto wall = clock_->wallNow();
  for (const std::shared_ptr<Target>& target : targets_) {
    Application& application = applications.emplace_back();
    application.types = target->rule.types;
    if (target->awaySince && target->waiting > 0) {
      application.awaySince = wall - std::chrono::duration_cast<std::chrono::milliseconds>(steady - *target->awaySince);
      application.cause = target->waitText(target->cause);
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
  });
}

}  // namespace ackbox::serve
