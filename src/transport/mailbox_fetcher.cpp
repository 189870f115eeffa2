#include "ackbox/mailbox_fetcher.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <utility>

#include "ackbox/error.hpp"
#include "base/home_process.hpp"
#include "base/mutex.hpp"
#include "protocol/limits.hpp"
#include "transport/mailbox_run.hpp"
#include "transport/tls_context.hpp"

namespace ackbox {
namespace {

// One request that settles, and one that replaces a stale connection. The stream has a connection of its own.
constexpr std::size_t kMailboxConnections = 2;
// What is on a line beside the event.
constexpr std::size_t kMailboxLineSlack = protocol::kEnvelopeBytesMax;

std::shared_ptr<const HttpSenderOptions> httpOf(const MailboxFetcherOptions& options) {
  HttpSenderOptions http;
  http.resolveTimeout = options.connectTimeout;
  http.connectTimeout = options.connectTimeout;
  http.handshakeTimeout = options.connectTimeout;
  http.connectionsMax = kMailboxConnections;
  http.clock = options.clock;
  return std::make_shared<const HttpSenderOptions>(std::move(http));
}

std::shared_ptr<const transport::MailboxPlan> planOf(InboundHandler& handler, MailboxFetcherOptions options) {
  transport::validate(options);
  options.clock = options.clock ? options.clock : systemClock();
  options.random = options.random ? options.random : systemRandom();
  auto plan = std::make_shared<transport::MailboxPlan>();
  plan->hub = transport::hubOf(options);
  plan->http = httpOf(options);
  if (plan->hub.isEncrypted) {
    plan->tls = std::make_shared<transport::TlsContext>(options.tls, options.clock);
  }
  plan->board = std::make_shared<transport::MailboxBoard>();
  if (options.token) {
    plan->token = std::make_shared<protocol::HeaderCache>(SecretSource::bearer(options.token), options.clock,
                                                          options.secretsGrace);
  }
  plan->handler = protocol::InboundPort::shared(handler);
  plan->lineBytesMax = protocol::InboundPort::of(handler).bodyBytesMax() + kMailboxLineSlack;
  plan->options = std::move(options);
  return plan;
}

}  // namespace

std::string_view toString(MailboxState state) noexcept {
  switch (state) {
    case MailboxState::stopped:
      return "stopped";
    case MailboxState::connecting:
      return "connecting";
    case MailboxState::fetching:
      return "fetching";
    case MailboxState::away:
      return "away";
    case MailboxState::refused:
      return "refused";
  }
  return "unknown";
}

class MailboxFetcher::Impl {
public:
  Impl(InboundHandler& handler, MailboxFetcherOptions options) : plan_(planOf(handler, std::move(options))) {}

  [[nodiscard]] const HomeProcess& home() const noexcept { return home_; }

  void start(const boost::asio::any_io_executor& executor) {
    auto fresh = std::make_shared<transport::MailboxRun>(executor, plan_);
    fresh->start();
    replace(std::move(fresh));
  }

  void stop() { replace(nullptr); }

  [[nodiscard]] MailboxStatus status() const ACKBOX_EXCLUDES(mutex_) {
    MailboxStatus status = plan_->board->status();
    const MutexLock lock(mutex_);
    if (!run_) {
      status.state = MailboxState::stopped;
      status.what.clear();
      status.inHand = 0;
    }
    return status;
  }

private:
  void replace(std::shared_ptr<transport::MailboxRun> run) ACKBOX_EXCLUDES(mutex_) {
    {
      const MutexLock lock(mutex_);
      run_.swap(run);
    }
    if (run) {
      run->stop();
    }
  }

  const HomeProcess home_;
  const std::shared_ptr<const transport::MailboxPlan> plan_;
  mutable Mutex mutex_;
  // Null while not started.
  std::shared_ptr<transport::MailboxRun> run_ ACKBOX_GUARDED_BY(mutex_);
};

MailboxFetcher::MailboxFetcher(InboundHandler& handler, MailboxFetcherOptions options)
    : impl_(std::make_shared<Impl>(handler, std::move(options))) {}

MailboxFetcher::MailboxFetcher(MailboxFetcher&&) noexcept = default;

MailboxFetcher& MailboxFetcher::operator=(MailboxFetcher&& other) noexcept {
  if (this != &other) {
    const MailboxFetcher ending(std::move(*this));
    impl_ = std::move(other.impl_);
  }
  return *this;
}

MailboxFetcher::~MailboxFetcher() {
  if (!impl_) {
    return;
  }
  if (impl_->home().isHere()) {
    stop();
  } else {
    HomeProcess::abandon(std::move(impl_));
  }
}

void MailboxFetcher::start(const boost::asio::any_io_executor& executor) {
  impl_->home().require();
  impl_->start(executor);
}

void MailboxFetcher::stop() {
  if (impl_->home().isHere()) {
    impl_->stop();
  }
}

MailboxStatus MailboxFetcher::status() const {
  return impl_->status();
}

}  // namespace ackbox
