#include "serve/config/secret_watch.hpp"

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <exception>
#include <utility>

#include "base/shown_url.hpp"
#include "base/timestamp.hpp"
#include "protocol/own_headers.hpp"
#include "protocol/signature.hpp"
#include "serve/report.hpp"

namespace ackbox::serve {
namespace {

constexpr std::chrono::seconds kPart{1};
constexpr std::size_t kParts = 10;

// What is missing; empty: nothing.

std::string absenceIn(const protocol::KeyRing& keys) {
  return keys.canSign() || keys.verifyingKeys() > 0 ? std::string() : "there is no secret";
}

std::string absenceIn(const protocol::OwnHeaders& headers) {
  return headers.isEmpty() ? "there is no header" : std::string();
}

/// The problem of tokens, see `OauthTokens::watched`.
std::string problemOfTokens(const SecretSource& source) {
  try {
    return source.load().size() == 1 ? std::string() : "there must be one secret";
  } catch (const std::exception& error) {
    return error.what();
  }
}

template <typename Secrets>
std::string problemOf(const SecretSource& source) {
  try {
    return absenceIn(Secrets(source.load()));
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace

SecretWatch::SecretWatch(boost::asio::any_io_executor executor, std::shared_ptr<Clock> clock, const Config& config)
    : executor_(std::move(executor)),
      clock_(std::move(clock)),
      log_(config.outbox.log),
      grace_(config.sender.secretsGrace),
      alarm_(clock_->makeAlarm(executor_)) {
  const MutexLock lock(mutex_);
  for (const PeerOptions& peer : config.outbox.peers) {
    const auto tokens = config.oauth.find(peer.name);
    addPeer(peer, tokens == config.oauth.end() ? nullptr : tokens->second, false);
  }
  if (config.inbox) {
    for (const InboundPeer& peer : config.inbox->handler.peers) {
      add("inbox.peers", peer.agents.front(), peer.secrets, problemOf<protocol::KeyRing>);
    }
    for (const DeliveryRule& rule : config.inbox->deliver) {
      const std::string url(shownUrl(rule.url));
      add("inbox.deliver", url, rule.secrets, problemOf<protocol::KeyRing>);
      add("inbox.deliver.headers", url, rule.headers, problemOf<protocol::OwnHeaders>);
      if (rule.oauth) {
        add("inbox.deliver.oauth", url, rule.oauth->watched(), problemOfTokens);
      }
    }
    for (const FetchRule& rule : config.inbox->fetch) {
      if (rule.options.token) {
        add("inbox.fetch", rule.options.url, SecretSource::bearer(rule.options.token), problemOf<protocol::OwnHeaders>);
      }
    }
  }
}

void SecretWatch::addPeer(const PeerOptions& peer, const std::shared_ptr<OauthTokens>& tokens, bool isAdded) {
  add("peers", peer.name, peer.secrets, problemOf<protocol::KeyRing>, isAdded);
  add("peers.headers", peer.name, peer.headers, problemOf<protocol::OwnHeaders>, isAdded);
  if (tokens) {
    add("peers.oauth", peer.name, tokens->watched(), problemOfTokens, isAdded);
  }
}

void SecretWatch::add(std::string_view use, const std::string& name, const SecretSource& source, Check check,
                      bool isAdded) {
  if (source) {
    entries_.push_back({.source = source,
                        .check = check,
                        .state = {.use = std::string(use), .name = name, .cause = {}, .since = {}},
                        .isAdded = isAdded,
                        .number = ++lastNumber_});
  }
}

void SecretWatch::watchAdded(const PeerOptions& peer, const std::shared_ptr<OauthTokens>& tokens) {
  forgetAdded(peer.name);
  const MutexLock lock(mutex_);
  addPeer(peer, tokens, true);
}

void SecretWatch::forgetAdded(std::string_view name) {
  const MutexLock lock(mutex_);
  std::erase_if(entries_, [name](const Entry& entry) { return entry.isAdded && entry.state.name == name; });
}

void SecretWatch::start() {
  boost::asio::post(executor_, [self = shared_from_this()] { self->arm(); });
}

void SecretWatch::stop() {
  boost::asio::post(executor_, [self = shared_from_this()] {
    self->isStopped_ = true;
    self->alarm_->cancel();
  });
}

void SecretWatch::arm() {
  if (isStopped_) {
    return;
  }
  alarm_->set(clock_->steadyNow() + kPart, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) {
      self->arm();
      self->look();
    }
  });
}

void SecretWatch::look() {
  std::size_t count = 0;
  {
    const MutexLock lock(mutex_);
    count = entries_.size();
  }
  for (std::size_t left = std::min(count, count / kParts + 1); left > 0; --left) {
    next_ = next_ + 1 < count ? next_ + 1 : 0;
    lookAt(next_);
  }
}

void SecretWatch::lookAt(std::size_t index) {
  SecretSource source;
  Check check = nullptr;
  std::uint64_t number = 0;
  {
    const MutexLock lock(mutex_);
    if (index >= entries_.size()) {
      return;
    }
    source = entries_[index].source;
    check = entries_[index].check;
    number = entries_[index].number;
  }
  const std::string cause = check(source);
  SecretProblem state;
  std::string before;
  {
    const MutexLock lock(mutex_);
    const auto entry = std::ranges::find(entries_, number, &Entry::number);
    if (entry == entries_.end()) {
      return;
    }
    SecretProblem& known = entry->state;
    before = std::exchange(known.cause, cause);
    known.since = before.empty() ? clock_->wallNow() : known.since;
    state = known;
  }
  if (before.empty() != cause.empty()) {
    report(state);
  }
}

std::vector<SecretProblem> SecretWatch::problems() const {
  std::vector<SecretProblem> found;
  const MutexLock lock(mutex_);
  for (const Entry& entry : entries_) {
    if (!entry.state.cause.empty()) {
      found.push_back(entry.state);
    }
  }
  return found;
}

void SecretWatch::write(protocol::Exposition& out) const {
  out.family("ackbox_secrets_usable", protocol::Exposition::Type::gauge,
             "1 if the secrets of a peer or an application can be read and used.");
  const MutexLock lock(mutex_);
  for (const Entry& entry : entries_) {
    out.sample(std::uint64_t{entry.state.cause.empty() ? 1U : 0U},
               {{"use", entry.state.use}, {"name", entry.state.name}});
  }
}

void SecretWatch::report(const SecretProblem& state) const {
  const std::array<LogField, 3> fields = {LogField{"use", state.use}, {"name", state.name}, {"cause", state.cause}};
  if (state.cause.empty()) {
    serve::report(log_, *clock_, LogLevel::info, "secrets-back", "secrets can be used again",
                  std::span(fields).first(2));
    return;
  }
  const auto minutes = std::chrono::duration_cast<std::chrono::minutes>(grace_).count();
  serve::report(log_, *clock_, LogLevel::warning, "secrets-unusable",
                "secrets cannot be used; where they cannot be read, the earlier ones stay valid for " +
                    std::to_string(minutes) + " minutes at most: correct the cause",
                fields);
}

}  // namespace ackbox::serve
