#include "serve/server.hpp"

#include <algorithm>
#include <array>
#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <future>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "ackbox/http_sender.hpp"
#include "ackbox/inbound_handler.hpp"
#include "ackbox/inbound_server.hpp"
#include "base/own_thread.hpp"
#include "serve/api/operations.hpp"
#include "serve/api/service.hpp"
#include "serve/events/event_streams.hpp"
#include "serve/http/gate.hpp"
#include "serve/http/tokens.hpp"
#include "serve/inbox/frame_streams.hpp"
#include "serve/inbox/pusher.hpp"
#include "serve/page/routes.hpp"
#include "serve/traces/traces.hpp"
#include "transport/http_server.hpp"

namespace ackbox::serve {
namespace {

// Twice the longest wait of an operation, so that a request's own time never ends it.
constexpr std::chrono::seconds kHandlingTimeout{60};
// The sender keeps such frames; an application for them may be configured by then.
constexpr std::chrono::minutes kUnknownTypePause{1};
constexpr const char* kLoopbackHosts[] = {"localhost", "127.0.0.1", "[::1]"};

std::shared_ptr<const Tokens> loadTokens(const ApiConfig& api) {
  return api.tokensFile.empty() ? nullptr : std::make_shared<const Tokens>(Tokens::load(api.tokensFile));
}

AccessRules accessRules(const ApiConfig& api) {
  AccessRules rules;
  if (!api.address.starts_with("unix:")) {
    rules.hosts = api.allowedHosts;
    rules.hosts.insert(rules.hosts.end(), std::begin(kLoopbackHosts), std::end(kLoopbackHosts));
  }
  rules.tokens = loadTokens(api);
  rules.openHealth = api.openHealth;
  rules.openMetrics = api.openMetrics;
  rules.isTls = !api.tls.certificateFile.empty();
  return rules;
}

InboundServerOptions listenOptions(const ApiConfig& api) {
  InboundServerOptions options;
  options.address = api.address;
  options.port = api.port;
  options.path = "/";
  options.tls = api.tls;
  options.requestTimeout = kHandlingTimeout;
  return options;
}

/// The operations of the API, and the page's routes.
std::span<const Operation> surface() {
  static const std::vector<Operation> all = [] {
    std::vector<Operation> made(operations().begin(), operations().end());
    made.insert(made.end(), page::routes().begin(), page::routes().end());
    return made;
  }();
  return all;
}

std::size_t bodyBytesMax() {
  std::size_t most = 0;
  for (const Operation& operation : surface()) {
    most = std::max(most, operation.bodyBytesMax);
  }
  return most;
}

/// The same, with its log shown to those who look at the events.
Config shownIn(const std::shared_ptr<EventStreams>& events, Config config) {
  config.outbox.log = [events, sink = std::move(config.outbox.log)](const LogRecord& record) {
    if (sink) {
      sink(record);
    }
    events->log(record);
  };
  return config;
}

OutboxManager openOutbox(const std::filesystem::path& file, const Config& config, std::shared_ptr<TraceHooks> trace) {
  OutboxOptions options = config.outbox;
  options.trace = std::move(trace);
  OutboxManager manager = OutboxManager::open(file, std::move(options));
  manager.setSender(std::make_shared<HttpSender>(config.sender));
  return manager;
}

}  // namespace

class Server::Body {
public:
  Body(const std::filesystem::path& file, Config config)
      : events_(std::make_shared<EventStreams>(thread_.executor(), systemClock())),
        config_(shownIn(events_, std::move(config))),
        traces_(Traces::open(thread_.executor(), config_)),
        service_(thread_.executor(), openOutbox(file, config_, traces_.hooks), config_.outbox, events_,
                 OwnFigures(config_, traces_.counts)),
        gate_(service_, surface(), accessRules(config_.api)) {
    transport::RequestSink sink;
    sink.bodyBytesMax = bodyBytesMax();
    sink.admit = [this](const transport::RequestHead& head) { return gate_.admit(head); };
    http_ = std::make_shared<transport::HttpServer>(thread_.executor(), listenOptions(config_.api), std::move(sink),
                                                    systemClock(), transport::Threads::one);
    if (config_.inbox) {
      openInbox(*config_.inbox);
    }
    service_.manager().start();
    http_->start();
  }

  ~Body() {
    stop();
    // No request reaches the service any more once its thread has ended.
    thread_.end();
  }

  void stop() {
    if (std::exchange(isStopped_, true)) {
      return;
    }
    service_.beginDraining();
    if (inboxServer_) {
      inboxServer_->stop();
      inboxServer_.reset();
    }
    drainFrames();
    // What an application has from a stream was settled by now, or is given out by the next daemon.
    http_->stop();
    // Before the frames are let go of, so that they are charged nothing.
    handler_.reset();
    if (pusher_) {
      pusher_->close();
      streams_->close();
    }
    service_.drain();
    traces_.drain(config_.outbox.stopTimeout);
  }

  void reload() {
    std::shared_ptr<const Tokens> tokens = loadTokens(config_.api);
    http_->reloadCertificates();
    if (inboxServer_) {
      inboxServer_->reloadCertificates();
    }
    gate_.setTokens(std::move(tokens));
    events_->endRevoked();
    if (streams_) {
      streams_->endRevoked();
    }
  }

  [[nodiscard]] const transport::HttpServer& http() const noexcept { return *http_; }
  [[nodiscard]] std::string inboxUrl() const { return inboxUrl_; }

private:
  // Both at once: their applications have one time together.
  void drainFrames() {
    if (!pusher_) {
      return;
    }
    const SteadyTime patience = systemClock()->steadyNow() + config_.outbox.stopTimeout;
    const std::future<void> idle = streams_->drain();
    pusher_->drain(config_.outbox.stopTimeout);
    idle.wait_until(patience);
  }

  void openInbox(const InboxConfig& inbox) {
    pusher_ = std::make_shared<Pusher>(thread_.executor(), inbox.deliver, config_.sender, config_.outbox.log);
    std::vector<std::string> pushed;
    for (const DeliveryRule& rule : inbox.deliver) {
      pushed.push_back(rule.types);
    }
    streams_ = std::make_shared<FrameStreams>(thread_.executor(), systemClock(),
                                              config_.outbox.random ? config_.outbox.random : systemRandom(),
                                              inbox.pull, std::move(pushed), config_.outbox.log);
    if (!inbox.pull.empty()) {
      service_.setFrameStreams(streams_);
    }
    InboundOptions options = inbox.handler;
    options.trace = traces_.hooks;
    runs_.emplace([](const std::string&) {});
    options.deferred.executor = std::make_shared<const boost::asio::any_io_executor>(runs_->executor());
    // Frames that wait for a stream must not keep others from being pushed.
    options.deferred.apart = [streams = streams_](std::string_view type) { return streams->takes(type); };
    options.deferred.handler = [pusher = pusher_, streams = streams_](DeferredFrame frame) {
      if (streams->takes(frame.frame().type)) {
        streams->add(std::move(frame));
      } else {
        pusher->push(std::move(frame));
      }
    };
    handler_.emplace(
        service_.manager(),
        [pusher = pusher_, streams = streams_](const InboundFrame& frame, InboundTransaction&) {
          return pusher->takes(frame.type) || streams->takes(frame.type)
                     ? HandlerResult::defer()
                     : HandlerResult::notNow("no application takes frames of this type", kUnknownTypePause);
        },
        std::move(options));
    inboxServer_.emplace(*handler_, inbox.server);
    inboxUrl_ = inboxServer_->url();
  }

  /// What a post or a timer threw; what a request threw is its answer.
  void reportThrown(const std::string& what) const {
    const std::array<LogField, 1> fields = {LogField{"cause", what}};
    LogRecord record;
    record.level = LogLevel::error;
    record.at = systemClock()->wallNow();
    record.event = "daemon-failed";
    record.text = "a step of the daemon failed, and was left";
    record.fields = fields;
    config_.outbox.log(record);
  }

  bool isStopped_ = false;
  OwnThread thread_{[this](const std::string& what) { reportThrown(what); }};
  const std::shared_ptr<EventStreams> events_;
  const Config config_;
  const Traces traces_;
  Service service_;
  Gate gate_;
  std::shared_ptr<transport::HttpServer> http_;
  // Absent, as what follows: no peer can send here. Runs of deferred frames begin on it, which read the file.
  std::optional<OwnThread> runs_;
  std::shared_ptr<Pusher> pusher_;
  std::shared_ptr<FrameStreams> streams_;
  std::optional<InboundHandler> handler_;
  std::optional<InboundServer> inboxServer_;
  std::string inboxUrl_;
};

Server::Server(const std::filesystem::path& file, Config config)
    : body_(std::make_unique<Body>(file, std::move(config))) {}

Server::~Server() = default;

std::string Server::url() const {
  return body_->http().url();
}

std::uint16_t Server::port() const {
  return body_->http().port();
}

std::string Server::inboxUrl() const {
  return body_->inboxUrl();
}

void Server::reload() {
  body_->reload();
}

void Server::stop() {
  body_->stop();
}

}  // namespace ackbox::serve
