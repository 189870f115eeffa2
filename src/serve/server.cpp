#include "serve/server.hpp"

#include <algorithm>
#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <future>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "ackbox/error.hpp"
#include "ackbox/http_sender.hpp"
#include "ackbox/inbound_handler.hpp"
#include "ackbox/inbound_server.hpp"
#include "base/hex.hpp"
#include "base/own_thread.hpp"
#include "base/pattern.hpp"
#include "location/location.hpp"
#include "serve/api/operations.hpp"
#include "serve/api/service.hpp"
#include "serve/config/checks.hpp"
#include "serve/config/connections.hpp"
#include "serve/config/file_stamps.hpp"
#include "serve/config/secret_watch.hpp"
#include "serve/events/event_streams.hpp"
#include "serve/http/gate.hpp"
#include "serve/http/logins.hpp"
#include "serve/http/places.hpp"
#include "serve/http/refusals.hpp"
#include "serve/http/token_watch.hpp"
#include "serve/http/tokens.hpp"
#include "serve/inbox/application_board.hpp"
#include "serve/inbox/frame_streams.hpp"
#include "serve/inbox/pusher.hpp"
#include "serve/oauth/oauth_sender.hpp"
#include "serve/page/routes.hpp"
#include "serve/traces/traces.hpp"
#include "transport/descriptors.hpp"
#include "transport/http_server.hpp"

namespace ackbox::serve {
namespace {

// Twice the longest wait of an operation, so that this timeout never ends a wait.
constexpr std::chrono::seconds kHandlingTimeout{60};
// The sender keeps such frames; until then an application for them may be configured.
constexpr std::chrono::minutes kUnknownTypePause{1};
// A sender may use any number of types.
constexpr std::size_t kLoggedTypesMax = 64;
// The limit of frames that all streams have in hand, and of those that each stream may have beside it.
constexpr std::uint32_t kPulledFramesMax = 1'024;
constexpr std::uint32_t kFramesOfEachStream = 4;
constexpr std::size_t kCookieNameBytes = 4;
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
  return rules;
}

/// The same name after a restart, and a different one for each daemon on a host.
std::string cookieName(const Config& config) {
  const Tokens::Digest digest =
      Tokens::digestOf(config.outbox.agent + '\n' + config.api.address + '\n' + std::to_string(config.api.port));
  return "ackbox_" + hexOf(std::span(digest).first(kCookieNameBytes));
}

InboundServerOptions listenOptions(const ApiConfig& api, std::size_t connections) {
  InboundServerOptions options;
  options.connectionsMax = connections;
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

/// `config`, with its log copied to the events. The daemon's records obey the level, like the library's.
Config shownIn(const std::shared_ptr<EventStreams>& events, Config config) {
  config.outbox.log = [events, level = config.outbox.logLevel,
                       sink = std::move(config.outbox.log)](const LogRecord& record) {
    if (record.level < level) {
      return;
    }
    if (sink) {
      sink(record);
    }
    events->log(record);
  };
  return config;
}

/// The peers that cannot send ACK events here. Webhooks are left out, because they never send any.
std::string peersWithoutAcks(const Config& config) {
  std::string names;
  for (const PeerOptions& peer : config.outbox.peers) {
    const auto isOf = [&](const InboundPeer& one) {
      const auto fits = [&](const std::string& pattern) { return fitsPattern(pattern, peer.agent); };
      return one.mayAck && (std::ranges::find(one.agents, peer.agent) != one.agents.end() ||
                            std::ranges::any_of(one.mailboxes, fits));
    };
    const bool mayCome = config.inbox && (peer.agent.empty() || std::ranges::any_of(config.inbox->handler.peers, isOf));
    if (peer.profile == PeerProfile::native && !mayCome) {
      names += (names.empty() ? "" : ",") + peer.name;
    }
  }
  return names;
}

OutboxManager openOutbox(const std::filesystem::path& file, const Config& config, std::shared_ptr<TraceHooks> trace,
                         const std::shared_ptr<SecretWatch>& watch) {
  OutboxOptions options = config.outbox;
  options.trace = std::move(trace);
  const auto sender =
      std::make_shared<OauthSender>(std::make_shared<HttpSender>(config.sender), config.sender, config.oauth);
  sender->setRemoved([watch](std::string_view name) { watch->forgetAdded(name); });
  options.addedPeer = [config, sender, watch](const std::string& name, const std::string& definition) {
    std::shared_ptr<OauthTokens> oauth;
    PeerOptions peer = definedPeer(name, definition, config, &oauth);
    watch->watchAdded(peer, oauth);
    sender->use(name, std::move(oauth));
    return peer;
  };
  OutboxManager manager = location::openManager(file, std::move(options));
  manager.setSender(sender);
  return manager;
}

}  // namespace

class Server::Impl {
public:
  Impl(const std::filesystem::path& file, Config config)
      : connections_(Connections::within(transport::descriptorLimit(), config)),
        places_(Places::of(connections_.api, config.api.streamsMax)),
        events_(std::make_shared<EventStreams>(thread_.executor(), systemClock(), places_.eventStreams)),
        config_(shownIn(events_, std::move(config))),
        stamps_(FileStamps::of(config_)),
        traces_(Traces::open(thread_.executor(), config_)),
        refusals_(std::make_shared<Refusals>(systemClock(), config_.outbox.log)),
        secretWatch_(std::make_shared<SecretWatch>(thread_.executor(), systemClock(), config_)),
        service_(thread_.executor(), openOutbox(file, config_, traces_.hooks, secretWatch_), config_.outbox, file,
                 places_, events_, OwnFigures(config_, traces_.counts, refusals_)),
        logins_(thread_.executor(), systemClock(), cookieName(config_), !config_.api.tls.certificateFile.empty()),
        gate_(service_, logins_, *refusals_, surface(), accessRules(config_.api)) {
    logins_.setEnded([this] { endRevoked(); });
    try {
      start();
    } catch (...) {
      end();
      throw;
    }
  }

  ~Impl() { end(); }

  void stop() {
    if (std::exchange(isStopped_, true)) {
      return;
    }
    service_.beginDraining();
    if (tokenWatch_) {
      tokenWatch_->stop();
    }
    secretWatch_->stop();
    if (fetchers_) {
      fetchers_->stop();
    }
    if (inboxServer_) {
      inboxServer_->stop();
      inboxServer_.reset();
    }
    drainFrames();
    // Frames of streams were settled by now, or the next daemon gives them out again.
    if (http_) {
      http_->stop();
    }
    // Before the frames are dropped, so that they are not charged.
    handler_.reset();
    if (board_) {
      board_->stop();
    }
    if (pusher_) {
      pusher_->close();
    }
    if (streams_) {
      streams_->close();
    }
    service_.drain();
    traces_.drain(config_.outbox.stopTimeout);
  }

  void reload() {
    std::shared_ptr<const Tokens> tokens;
    FileStamps now;
    try {
      // Reads all of them before using any.
      tokens = loadTokens(config_.api);
      now = FileStamps::of(config_);
      http_->reloadCertificates();
      if (inboxServer_) {
        inboxServer_->reloadCertificates();
      }
    } catch (const Error& error) {
      report(LogLevel::warning, "reload-refused",
             "the tokens stay as they were: correct the cause, and send SIGHUP again", {"cause", inConfigWords(error)});
      return;
    }
    const std::string changed = now.differencesFrom(stamps_);
    stamps_ = std::move(now);
    useTokens(std::move(tokens));
    report(LogLevel::info, "configuration-reloaded",
           "tokens, certificates and secrets were read again; other changes count from the next start",
           {"changed", changed});
  }

  [[nodiscard]] const transport::HttpServer& http() const noexcept { return *http_; }
  [[nodiscard]] std::string inboxUrl() const { return inboxUrl_; }

private:
  void start() {
    transport::RequestSink sink;
    sink.bodyBytesMax = bodyBytesMax();
    sink.admit = [this](const transport::RequestHead& head) { return gate_.admit(head); };
    service_.setSecretWatch(secretWatch_);
    service_.setConfig(std::make_shared<const Config>(config_));
    http_ = std::make_shared<transport::HttpServer>(thread_.executor(), listenOptions(config_.api, connections_.api),
                                                    std::move(sink), systemClock(), transport::Threads::one);
    if (config_.inbox) {
      openInbox(*config_.inbox);
    }
    service_.deliver();
    http_->start();
    watchTokens();
    secretWatch_->start();
    reportReduced(config_, connections_, places_.frameStreams);
    if (const std::string peers = peersWithoutAcks(config_); !peers.empty()) {
      report(
          LogLevel::info, "no-ack-events",
          "these peers cannot report that a message which they deferred is done, so that is known at its ack_timeout: "
          "inbox must be configured, and its peers name their agents",
          {"peers", peers});
    }
  }

  void end() {
    stop();
    // The thread uses the other members.
    thread_.end();
  }

  void useTokens(std::shared_ptr<const Tokens> tokens) {
    if (!tokens) {
      return;
    }
    gate_.setTokens(tokens);
    logins_.keep(*tokens);
    endRevoked();
  }

  /// Ensures that deleted or unusable tokens do not stay valid for ever.
  void watchTokens() {
    if (config_.api.tokensFile.empty()) {
      return;
    }
    tokenWatch_ = std::make_shared<TokenWatch>(
        thread_.executor(), systemClock(), config_.api.tokensFile, config_.sender.secretsGrace,
        [this](std::shared_ptr<const Tokens> tokens) { useTokens(std::move(tokens)); }, config_.outbox.log);
    tokenWatch_->start();
  }

  void endRevoked() {
    events_->endRevoked();
    if (streams_) {
      streams_->endRevoked();
    }
  }

  // Drains both at once, so that their applications share one time limit.
  void drainFrames() {
    if (!streams_) {
      return;
    }
    const SteadyTime patience = systemClock()->steadyNow() + config_.outbox.stopTimeout;
    const std::future<void> idle = streams_->drain();
    pusher_->drain(config_.outbox.stopTimeout);
    idle.wait_until(patience);
  }

  /// Creates the receivers of frames, before any frame arrives.
  void openApplications(const InboxConfig& inbox) {
    pusher_ = std::make_shared<Pusher>(thread_.executor(), inbox.deliver, config_.sender, config_.outbox.log);
    std::vector<std::string> pushed;
    for (const DeliveryRule& rule : inbox.deliver) {
      pushed.push_back(rule.types);
    }
    streams_ = std::make_shared<FrameStreams>(
        thread_.executor(), systemClock(), config_.outbox.random ? config_.outbox.random : systemRandom(),
        places_.frameStreams, StreamedFrames{inbox.pull, std::move(pushed), inbox.mailboxes}, config_.outbox.log);
    if (!inbox.pull.empty() || !inbox.mailboxes.empty()) {
      service_.setFrameStreams(streams_);
    }
    service_.setFrameWaits([pusher = pusher_, streams = streams_] {
      FrameWaits waits;
      pusher->addWaits(waits);
      streams->addWaits(waits);
      return waits;
    });
    board_ =
        std::make_shared<ApplicationBoard>(thread_.executor(), systemClock(), [pusher = pusher_, streams = streams_] {
          std::vector<Application> applications;
          pusher->addApplications(applications);
          streams->addApplications(applications);
          return applications;
        });
    board_->start();
  }

  void openInbox(const InboxConfig& inbox) {
    openApplications(inbox);
    InboundOptions options = inbox.handler;
    options.deferred.applications = [board = board_] { return board->current(); };
    options.trace = traces_.hooks;
    runs_.emplace([](const std::string&) {});
    options.deferred.executor = std::make_shared<const boost::asio::any_io_executor>(runs_->executor());
    // One pool per application: frames for an application that is away must not block those for others. A type belongs
    // to its first pool in this order, as in the handler below.
    for (std::size_t rule = 0; rule < inbox.deliver.size(); ++rule) {
      options.deferred.pools.push_back(
          {{inbox.deliver[rule].types}, options.deferred.concurrency, pusher_->demand(rule)});
    }
    if (!inbox.pull.empty()) {
      options.deferred.pools.push_back({inbox.pull, kPulledFramesMax, streams_->demand(), kFramesOfEachStream});
      streams_->watchUnwanted();
    }
    if (!inbox.mailboxes.empty()) {
      options.deferred.mailboxes = {.agents = inbox.mailboxes,
                                    .demand = streams_->mailDemand(),
                                    .concurrency = kPulledFramesMax,
                                    .wishConcurrency = kFramesOfEachStream,
                                    .mailboxFramesMax = inbox.handler.deferred.mailboxes.mailboxFramesMax};
    }
    options.deferred.handler = [pusher = pusher_, streams = streams_](DeferredFrame frame) {
      if (!frame.frame().mailbox.empty() || streams->takes(frame.frame().type)) {
        streams->add(std::move(frame));
      } else {
        pusher->push(std::move(frame));
      }
    };
    options.deferred.always = [this](std::string_view type) { return isTaken(type); };
    handler_.emplace(
        service_.manager(),
        [this](const InboundFrame& frame, InboundTransaction&) {
          // Frames of taken types come here only behind an earlier frame of their session that another configuration
          // kept.
          return isTaken(frame.type) ? HandlerResult::defer() : refuse(frame.type);
        },
        std::move(options));
    if (!inbox.fetch.empty()) {
      fetchers_ = std::make_shared<Fetchers>(*handler_, inbox.fetch, systemClock(), config_.outbox.log);
      service_.setFetchers(fetchers_);
      fetchers_->start(thread_.executor());
    }
    if (!inbox.isListening) {
      return;
    }
    InboundServerOptions server = inbox.server;
    server.connectionsMax = connections_.inbox;
    inboxServer_.emplace(*handler_, std::move(server));
    inboxUrl_ = inboxServer_->url();
  }

  [[nodiscard]] bool isTaken(std::string_view type) const { return pusher_->takes(type) || streams_->takes(type); }

  /// Handles a frame of a type that no application takes. Called on the store's thread.
  HandlerResult refuse(const std::string& type) {
    if (unwantedTypes_.size() < kLoggedTypesMax && unwantedTypes_.insert(type).second) {
      report(
          LogLevel::warning, "no-application",
          "frames of a type that neither inbox.deliver nor inbox.pull names stay with their senders, which give them "
          "up in the end; add the type, or correct it there",
          {"type", type});
    }
    return HandlerResult::notNow("no application takes frames of this type", kUnknownTypePause);
  }

  /// Logs an exception of a posted task or a timer; a request answers with its own exceptions.
  void reportThrown(const std::string& what) const {
    report(LogLevel::error, "daemon-failed", "an internal task failed and was skipped", {"cause", what});
  }

  void report(LogLevel level, std::string_view event, std::string_view text, LogField field) const {
    LogRecord record;
    record.level = level;
    record.at = systemClock()->wallNow();
    record.event = event;
    record.text = text;
    record.fields = {&field, 1};
    config_.outbox.log(record);
  }

  bool isStopped_ = false;
  OwnThread thread_{[this](const std::string& what) { reportThrown(what); }};
  const Connections connections_;
  const Places places_;
  const std::shared_ptr<EventStreams> events_;
  const Config config_;
  // The stamps of the files in use. Owned by the thread that reloads.
  FileStamps stamps_;
  const Traces traces_;
  const std::shared_ptr<Refusals> refusals_;
  const std::shared_ptr<SecretWatch> secretWatch_;
  Service service_;
  Logins logins_;
  Gate gate_;
  // Null if there are no tokens.
  std::shared_ptr<TokenWatch> tokenWatch_;
  std::shared_ptr<transport::HttpServer> http_;
  // This and the following members are absent if no peer can send here. Runs of deferred frames begin on this thread,
  // so that thousands of them need no threads of their own.
  std::optional<OwnThread> runs_;
  std::shared_ptr<Pusher> pusher_;
  std::shared_ptr<FrameStreams> streams_;
  std::shared_ptr<ApplicationBoard> board_;
  // The types that were logged; each is logged once. Owned by the store's thread.
  std::set<std::string> unwantedTypes_;
  std::optional<InboundHandler> handler_;
  // Null if there are no mailboxes.
  std::shared_ptr<Fetchers> fetchers_;
  std::optional<InboundServer> inboxServer_;
  std::string inboxUrl_;
};

Server::Server(const std::filesystem::path& file, Config config)
    : impl_(std::make_unique<Impl>(file, std::move(config))) {}

Server::~Server() = default;

std::string Server::url() const {
  return impl_->http().url();
}

std::uint16_t Server::port() const {
  return impl_->http().port();
}

std::string Server::inboxUrl() const {
  return impl_->inboxUrl();
}

void Server::reload() {
  impl_->reload();
}

void Server::stop() {
  impl_->stop();
}

}  // namespace ackbox::serve
