#include "c_abi/agent.hpp"

#include <algorithm>
#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <future>
#include <limits>
#include <span>
#include <utility>

#include "base/pattern.hpp"
#include "c_abi/call.hpp"
#include "json/line.hpp"
#include "records/message.hpp"
#include "records/stats.hpp"

namespace ackbox::c_abi {
namespace {

// A claim has no timeout: the process is its lease, as the kernel's lock on the file's sidecar shows to others.
constexpr std::chrono::hours kNoTimeout{24 * 365};
constexpr std::uint32_t kWindowDefault = 16;
constexpr std::uint32_t kWindowMost = 256;
// The sender keeps such frames; until then the program may be replaced by one that takes them.
constexpr std::chrono::minutes kUnknownTypePause{1};
constexpr std::string_view kBlanks = " \t\r\n";

std::string textOf(const char* text, std::string_view standard = {}) {
  return std::string(text == nullptr ? standard : std::string_view(text));
}

template <typename Choice>
Choice choice(std::uint32_t value, Choice last, const char* name) {
  if (value > static_cast<std::uint32_t>(last)) {
    throw Refusal(ACKBOX_INVALID_ARGUMENT, std::string(name) + " is " + std::to_string(value) + ", and at most " +
                                               std::to_string(static_cast<std::uint32_t>(last)));
  }
  return static_cast<Choice>(value);
}

SecretSource secretsOf(const ackbox_peer& peer) {
  if (peer.secrets != nullptr && peer.secrets_file != nullptr) {
    throw Refusal(ACKBOX_INVALID_ARGUMENT, "a peer has secrets or secrets_file, not both");
  }
  if (peer.secrets_file != nullptr) {
    return SecretSource::file(peer.secrets_file);
  }
  std::vector<Secret> secrets;
  std::string_view left = peer.secrets == nullptr ? std::string_view() : std::string_view(peer.secrets);
  for (std::size_t begin = left.find_first_not_of(kBlanks); begin != std::string_view::npos;
       begin = left.find_first_not_of(kBlanks)) {
    left.remove_prefix(begin);
    const std::size_t end = std::min(left.find_first_of(kBlanks), left.size());
    secrets.emplace_back(std::string(left.substr(0, end)));
    left.remove_prefix(end);
  }
  return secrets.empty() ? SecretSource() : SecretSource::fixed(std::move(secrets));
}

OutboxOptions outboxOf(const ackbox_options& options) {
  require(options.agent, "options.agent");
  OutboxOptions made;
  made.agent = options.agent;
  made.durability = choice(options.durability, Durability::processCrash, "options.durability");
  made.adoptPeers = true;
  validate(made);
  return made;
}

HandlerResult resultOf(const ackbox_outcome& outcome) {
  const std::chrono::milliseconds pause(outcome.retry_after_ms);
  switch (outcome.kind) {
    case ACKBOX_ACK:
      return HandlerResult::ack(textOf(outcome.result));
    case ACKBOX_REJECT:
      return HandlerResult::reject(textOf(outcome.detail), textOf(outcome.code, "rejected"));
    default:
      return HandlerResult::notNow(textOf(outcome.detail), pause.count() == 0 ? std::nullopt : std::optional(pause));
  }
}

void check(const ackbox_outcome& outcome) {
  if (outcome.kind < ACKBOX_ACK || outcome.kind > ACKBOX_RELEASE) {
    throw Refusal(ACKBOX_INVALID_ARGUMENT, "outcome.kind is not one of ACKBOX_ACK to ACKBOX_RELEASE");
  }
  if (outcome.reserved != 0 || outcome.retry_after_ms < 0) {
    throw Refusal(ACKBOX_INVALID_ARGUMENT, "outcome.reserved is not 0, or outcome.retry_after_ms is below 0");
  }
}

/// Whether the frame's run has ended so, and its end is durable.
bool end(DeferredFrame& frame, const ackbox_outcome& outcome) {
  if (outcome.kind == ACKBOX_RELEASE) {
    return frame.giveBack(textOf(outcome.detail), std::chrono::milliseconds(outcome.retry_after_ms));
  }
  auto done = std::make_shared<std::promise<bool>>();
  std::future<bool> isCommitted = done->get_future();
  // It alone has the promise, so that a call that never comes does not block this thread.
  auto commit = [done = std::move(done)](bool isDurable) { done->set_value(isDurable); };
  if (!frame.finish(resultOf(outcome), std::move(commit))) {
    return false;
  }
  try {
    return isCommitted.get();
  } catch (const std::future_error&) {
    return false;
  }
}

}  // namespace

Agent::Agent(const ackbox_options& options)
    : wantsEvents_(flag(options.events, "options.events")), outbox_(outboxOf(options)) {
  sender_.tls.authorityFile = textOf(options.authority_file);
}

// A server that stops first gives its frames to nobody; the frames are put back while there is a handler to do it.
Agent::~Agent() {
  server_.reset();
  if (claims_) {
    claims_->close();
  }
  handler_.reset();
  subscriptions_.clear();
  manager_.reset();
  runs_.reset();
}

OutboxManager& Agent::opened() {
  if (!manager_) {
    throw Refusal(ACKBOX_WRONG_STATE, "the agent has no file: call ackbox_open first");
  }
  return *manager_;
}

void Agent::requireNotOpened() const {
  if (manager_) {
    throw Refusal(ACKBOX_WRONG_STATE, "the agent has opened its file");
  }
}

void Agent::addPeer(const ackbox_peer& peer) {
  requireNotOpened();
  require(peer.name, "peer.name");
  PeerOptions made;
  made.name = peer.name;
  made.url = textOf(peer.url);
  made.agent = textOf(peer.agent);
  made.secrets = secretsOf(peer);
  made.profile = choice(peer.profile, PeerProfile::cloudeventsBinary, "peer.profile");
  made.allowPlainHttp = flag(peer.allow_plain_http, "peer.allow_plain_http");
  OutboxOptions outbox = outbox_;
  std::vector<InboundPeer> senders = senders_;
  if (!made.agent.empty() && made.secrets && made.profile == PeerProfile::native) {
    senders.push_back({.agents = {made.agent}, .secrets = made.secrets});
    InboundOptions inbound;
    inbound.peers = senders;
    validate(inbound, outbox.agent);
  }
  if (!made.url.empty()) {
    outbox.peers.push_back(std::move(made));
    // Without peers of its own the file's are adopted, so that no peer named `default` is made.
    outbox.adoptPeers = false;
    validate(outbox);
    HttpSender(sender_).usePeers(outbox.peers);
  } else if (peer.agent == nullptr || senders.size() == senders_.size()) {
    throw Refusal(ACKBOX_INVALID_ARGUMENT,
                  "a peer without url needs agent and secrets, or it can neither get nor send");
  }
  outbox_ = std::move(outbox);
  senders_ = std::move(senders);
}

void Agent::open(const std::filesystem::path& file) {
  requireNotOpened();
  OutboxManager manager = OutboxManager::open(file, outbox_);
  manager.setSender(std::make_shared<HttpSender>(sender_));
  if (wantsEvents_) {
    subscriptions_.push_back(manager.onAcked([events = events_](const AckedEvent& event) { events->add(event); }));
    subscriptions_.push_back(manager.onFailed([events = events_](const FailedEvent& event) { events->add(event); }));
  }
  manager_.emplace(std::move(manager));
}

InboundOptions Agent::inboundOptions(const ackbox_listen_options& options, const std::shared_ptr<Claims>& claims) {
  if (options.window > kWindowMost) {
    throw Refusal(ACKBOX_INVALID_ARGUMENT, "options.window is more than 256");
  }
  auto types = std::make_shared<std::vector<std::string>>();
  if (options.type_count != 0) {
    require(options.types, "options.types");
  }
  for (const char* const type : std::span(options.types, options.type_count)) {
    require(type, "a text of options.types");
    if (*type == '\0' || !patternProblem(type).empty()) {
      throw Refusal(ACKBOX_INVALID_ARGUMENT, "a text of options.types is empty, or has a * before its end");
    }
    types->emplace_back(type);
  }
  InboundOptions made;
  made.peers = senders_;
  made.allowAnonymous = flag(options.allow_anonymous, "options.allow_anonymous");
  made.deferred.concurrency = options.window == 0 ? kWindowDefault : options.window;
  made.deferred.timeout = kNoTimeout;
  made.deferred.handler = [claims](DeferredFrame frame) { claims->add(std::move(frame)); };
  made.deferred.always = [types](std::string_view type) {
    return types->empty() ||
           std::ranges::any_of(*types, [&](const std::string& pattern) { return fitsPattern(pattern, type); });
  };
  return made;
}

void Agent::listen(const ackbox_listen_options& options) {
  OutboxManager& manager = opened();
  const MutexLock lock(mutex_);
  if (server_) {
    throw Refusal(ACKBOX_WRONG_STATE, "the agent listens already");
  }
  if (options.port > std::numeric_limits<std::uint16_t>::max()) {
    throw Refusal(ACKBOX_INVALID_ARGUMENT, "options.port is more than 65535");
  }
  InboundServerOptions server;
  server.address = textOf(options.address, server.address);
  server.path = textOf(options.path, server.path);
  server.port = static_cast<std::uint16_t>(options.port);
  server.tls.certificateFile = textOf(options.certificate_file);
  server.tls.keyFile = textOf(options.key_file);
  server.allowPlainHttp = flag(options.allow_plain_http, "options.allow_plain_http");
  const auto claims = std::make_shared<Claims>(readiness_);
  InboundOptions inbound = inboundOptions(options, claims);
  if (!runs_) {
    runs_.emplace([](const std::string&) {});
  }
  inbound.deferred.executor = std::make_shared<const boost::asio::any_io_executor>(runs_->executor());
  const auto always = inbound.deferred.always;
  // Frames of taken types come to it only behind an earlier frame of their session that is not taken.
  InboundHandler handler(
      manager,
      [always](const InboundFrame& frame, InboundTransaction&) {
        return always(frame.type) ? HandlerResult::defer()
                                  : HandlerResult::notNow("no program takes frames of this type", kUnknownTypePause);
      },
      std::move(inbound));
  try {
    server_.emplace(handler, server);
  } catch (...) {
    // The handler may have given out frames that waited in the file.
    claims->close();
    throw;
  }
  handler_.emplace(std::move(handler));
  claims_ = claims;
}

std::shared_ptr<Claims> Agent::claims() {
  const MutexLock lock(mutex_);
  return claims_;
}

std::string Agent::url() {
  const MutexLock lock(mutex_);
  if (!server_) {
    throw Refusal(ACKBOX_WRONG_STATE, "the agent does not listen: call ackbox_listen first");
  }
  return server_->url();
}

int Agent::settle(std::uint64_t claim, const ackbox_outcome& outcome) {
  check(outcome);
  constexpr const char* kLate = "the claim has ended, or its end could not be committed: the frame is given out again";
  const std::shared_ptr<Claims> claims = this->claims();
  std::optional<DeferredFrame> frame = claims ? claims->take(claim) : std::nullopt;
  return frame && end(*frame, outcome) ? ACKBOX_OK : fail(ACKBOX_LATE, kLate);
}

std::string Agent::statsJson() {
  const OutboxReader reader(opened());
  return records::lineOf(reader.getStats(), reader.processIds()).text();
}

std::optional<std::string> Agent::explainJson(std::string_view messageId) {
  const std::optional<Explanation> explanation = opened().explain(messageId);
  if (!explanation) {
    return std::nullopt;
  }
  json::Line line = records::lineOf(explanation->message);
  line.raw("attempts", records::listOf(explanation->message.attempts));
  line.raw("reasons", records::listOf(explanation->reasons)).add("sentence", explanation->sentence);
  return line.text();
}

}  // namespace ackbox::c_abi
