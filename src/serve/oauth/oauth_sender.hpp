#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "ackbox/http_sender.hpp"
#include "ackbox/options.hpp"
#include "ackbox/sender.hpp"
#include "base/mutex.hpp"
#include "serve/oauth/oauth_tokens.hpp"

namespace ackbox::serve {

/// Gives each request to a peer with `OauthTokens` its token, as a header, and hands it to another sender. Without a
/// token it is the peer that is unavailable: no message is charged. A 401 gives the token up once, and the request is
/// repeated with the next one.
///
/// Thread-safety: as `Sender`; `use` may be called from any thread.
class OauthSender final : public Sender, public std::enable_shared_from_this<OauthSender> {
public:
  using MakePoster = std::function<std::shared_ptr<transport::HttpPoster>(const boost::asio::any_io_executor&)>;

  /// Uses those fields of `options` that configure the client of token servers. `makePoster` makes another client.
  OauthSender(std::shared_ptr<Sender> inner, const HttpSenderOptions& options, TokensOfPeers tokens,
              MakePoster makePoster = {});

  /// The tokens of a peer that is added or changed; null if it has none. Before `changePeer`.
  void use(const std::string& peer, std::shared_ptr<OauthTokens> tokens) ACKBOX_EXCLUDES(mutex_);

  /// `removed` is called when a peer was removed, on the manager's executor. Before the sender is used.
  void setRemoved(std::function<void(std::string_view peer)> removed) { removed_ = std::move(removed); }

  [[nodiscard]] std::uint32_t initialCredit() const override { return inner_->initialCredit(); }
  void usePeers(std::span<const PeerOptions> peers) override;
  void changePeer(const PeerOptions& peer) override;
  void removePeer(std::string_view name) override;
  [[nodiscard]] std::filesystem::path certificateFile() const override { return inner_->certificateFile(); }
  void start(const boost::asio::any_io_executor& executor) override;
  void asyncSend(SendRequest request, SendHandler handler) override;
  void stop() override;

private:
  struct Account {
    PeerOptions options;
    std::shared_ptr<OauthTokens> tokens;
    std::shared_ptr<transport::TlsContext> tls;
    std::shared_ptr<const transport::Networks> networks;
    // The token that the inner sender has.
    std::uint64_t number = 0;
  };
  struct Sending;

  [[nodiscard]] std::shared_ptr<Account> accountOf(const PeerOptions& peer) const ACKBOX_EXCLUDES(mutex_);
  void ask(const std::shared_ptr<Sending>& sending);
  void send(const std::shared_ptr<Sending>& sending, const OauthGrant& grant);
  void onReport(const std::shared_ptr<Sending>& sending, std::uint64_t number, SendReport&& report);

  const std::shared_ptr<Sender> inner_;
  const std::shared_ptr<const HttpSenderOptions> options_;
  const MakePoster makePoster_;
  std::function<void(std::string_view peer)> removed_;
  // Owned by the manager's executor.
  boost::asio::any_io_executor executor_;
  std::shared_ptr<transport::HttpPoster> poster_;
  std::map<std::string, std::shared_ptr<Account>, std::less<>> accounts_;
  mutable Mutex mutex_;
  TokensOfPeers tokens_ ACKBOX_GUARDED_BY(mutex_);
};

}  // namespace ackbox::serve
