#include "serve/oauth/oauth_sender.hpp"

#include <boost/asio/post.hpp>
#include <utility>

#include "ackbox/error.hpp"
#include "transport/http_client.hpp"
#include "transport/networks.hpp"

namespace ackbox::serve {
namespace {

constexpr std::size_t kTokenClientBytesMax = std::size_t{64} * 1024;
constexpr std::size_t kTokenConnectionsMax = 8;
constexpr int kTokenRefusedStatus = 401;

std::shared_ptr<const HttpSenderOptions> tokenClientOptions(HttpSenderOptions options) {
  options.clock = options.clock ? options.clock : systemClock();
  options.responseBytesMax = kTokenClientBytesMax;
  options.connectionsMax = kTokenConnectionsMax;
  return std::make_shared<const HttpSenderOptions>(std::move(options));
}

SendReport unsent(RequestOutcome outcome, std::string error) {
  SendReport report;
  report.outcome = outcome;
  report.error = std::move(error);
  return report;
}

}  // namespace

/// One request, until its end is reported.
struct OauthSender::Sending {
  std::shared_ptr<Account> account;
  SendRequest request;
  SendHandler handler;
  bool isRepeated = false;
};

OauthSender::OauthSender(std::shared_ptr<Sender> inner, const HttpSenderOptions& options, TokensOfPeers tokens,
                         MakePoster makePoster)
    : inner_(std::move(inner)),
      options_(tokenClientOptions(options)),
      makePoster_(std::move(makePoster)),
      tokens_(std::move(tokens)) {}

void OauthSender::use(const std::string& peer, std::shared_ptr<OauthTokens> tokens) {
  const MutexLock lock(mutex_);
  tokens_.insert_or_assign(peer, std::move(tokens));
}

std::shared_ptr<OauthSender::Account> OauthSender::accountOf(const PeerOptions& peer) const {
  std::shared_ptr<OauthTokens> tokens;
  {
    const MutexLock lock(mutex_);
    const auto found = tokens_.find(peer.name);
    tokens = found == tokens_.end() ? nullptr : found->second;
  }
  if (!tokens) {
    return nullptr;
  }
  auto account = std::make_shared<Account>();
  account->options = peer;
  account->tls = oauthTls(tokens->rule(), options_->tls, options_->clock);
  account->networks = peer.networks.empty() ? nullptr : std::make_shared<const transport::Networks>(peer.networks);
  account->tokens = std::move(tokens);
  return account;
}

void OauthSender::usePeers(std::span<const PeerOptions> peers) {
  std::map<std::string, std::shared_ptr<Account>, std::less<>> fresh;
  for (const PeerOptions& peer : peers) {
    if (auto account = accountOf(peer)) {
      fresh.emplace(peer.name, std::move(account));
    }
  }
  inner_->usePeers(peers);
  accounts_ = std::move(fresh);
}

void OauthSender::changePeer(const PeerOptions& peer) {
  auto account = accountOf(peer);
  inner_->changePeer(peer);
  accounts_.erase(peer.name);
  if (account) {
    accounts_.emplace(peer.name, std::move(account));
  }
}

void OauthSender::removePeer(std::string_view name) {
  if (const auto found = accounts_.find(name); found != accounts_.end()) {
    accounts_.erase(found);
  }
  inner_->removePeer(name);
  if (removed_) {
    removed_(name);
  }
}

void OauthSender::start(const boost::asio::any_io_executor& executor) {
  executor_ = executor;
  poster_ = makePoster_ ? makePoster_(executor) : std::make_shared<transport::HttpClient>(executor, options_);
  inner_->start(executor);
}

void OauthSender::stop() {
  if (poster_) {
    poster_->close();
  }
  inner_->stop();
}

void OauthSender::asyncSend(SendRequest request, SendHandler handler) {
  const auto account = accounts_.find(request.peer);
  if (account == accounts_.end() || !poster_) {
    inner_->asyncSend(std::move(request), std::move(handler));
    return;
  }
  ask(std::make_shared<Sending>(Sending{account->second, std::move(request), std::move(handler)}));
}

void OauthSender::ask(const std::shared_ptr<Sending>& sending) {
  const Account& account = *sending->account;
  account.tokens->get({poster_, account.tls, account.networks},
                      [self = shared_from_this(), sending](const OauthGrant& grant) {
                        boost::asio::post(self->executor_, [self, sending, grant] { self->send(sending, grant); });
                      });
}

void OauthSender::send(const std::shared_ptr<Sending>& sending, const OauthGrant& grant) {
  Account& account = *sending->account;
  if (grant.number == 0) {
    sending->handler(grant.isCancelled ? unsent(RequestOutcome::cancelled, "the sender was stopped")
                                       : unsent(RequestOutcome::peerUnavailable, "oauth: " + grant.cause));
    return;
  }
  if (grant.number > account.number) {
    PeerOptions options = account.options;
    options.headers = SecretSource::fixed({grant.header});
    // A peer that was removed or changed meanwhile is not put back.
    const auto current = accounts_.find(account.options.name);
    try {
      if (current != accounts_.end() && current->second == sending->account) {
        inner_->changePeer(options);
      }
    } catch (const Error& error) {
      sending->handler(unsent(RequestOutcome::peerUnavailable, error.what()));
      return;
    }
    account.number = grant.number;
  }
  // Kept for a repetition.
  SendRequest request = sending->request;
  inner_->asyncSend(std::move(request), [self = shared_from_this(), sending, number = account.number](
                                            SendReport report) { self->onReport(sending, number, std::move(report)); });
}

void OauthSender::onReport(const std::shared_ptr<Sending>& sending, std::uint64_t number, SendReport&& report) {
  const bool isRepeated = std::exchange(sending->isRepeated, true);
  if (report.status == kTokenRefusedStatus && !isRepeated && sending->account->tokens->refused(number)) {
    boost::asio::post(executor_, [self = shared_from_this(), sending] { self->ask(sending); });
    return;
  }
  sending->handler(std::move(report));
}

}  // namespace ackbox::serve
