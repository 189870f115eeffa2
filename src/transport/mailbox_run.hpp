#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "ackbox/http_sender.hpp"
#include "ackbox/mailbox_fetcher.hpp"
#include "base/mutex.hpp"
#include "protocol/inbound_port.hpp"
#include "protocol/secret_cache.hpp"
#include "transport/http_poster.hpp"
#include "transport/mailbox_frames.hpp"
#include "transport/mailbox_line.hpp"
#include "transport/mailbox_pause.hpp"
#include "transport/mailbox_settler.hpp"
#include "transport/url.hpp"

namespace ackbox::transport {

class TlsContext;

/// The figures of a `MailboxFetcher`, over all its runs.
///
/// Thread-safety: all members may be called from any thread.
class MailboxBoard {
public:
  [[nodiscard]] MailboxStatus status() const ACKBOX_EXCLUDES(mutex_);

  /// Changes the status; returns the new one.
  template <typename Change>
  MailboxStatus change(const Change& change) ACKBOX_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    change(status_);
    return status_;
  }

private:
  mutable Mutex mutex_;
  MailboxStatus status_ ACKBOX_GUARDED_BY(mutex_);
};

/// What a fetcher was made with, checked and complete.
struct MailboxPlan {
  /// `clock` and `random` are set.
  MailboxFetcherOptions options = {};
  std::shared_ptr<const HttpSenderOptions> http = {};
  /// Of the hub's API; its target is the path before `/v1`, without a slash at its end.
  Url hub = {};
  /// Null for plain HTTP.
  std::shared_ptr<TlsContext> tls = {};
  /// Null for a hub without tokens.
  std::shared_ptr<protocol::HeaderCache> token = {};
  std::weak_ptr<protocol::InboundPort> handler = {};
  /// The most bytes of a line of the stream.
  std::size_t lineBytesMax = 0;
  std::shared_ptr<MailboxBoard> board = {};
  /// Null: over HTTP.
  std::shared_ptr<MailboxNetwork> network = {};
};

/// The address of the hub's API, see `MailboxPlan::hub`. Throws `Error` with `invalidOption`.
[[nodiscard]] Url hubOf(const MailboxFetcherOptions& options);

/// Throws `Error` as the constructor of a `MailboxFetcher` with these options, but does not read the token.
void validate(const MailboxFetcherOptions& options);

/// One run of a `MailboxFetcher`, from `start` to `stop`: opens the stream, again after a pause whenever it ends.
///
/// Thread-safety: `start` and `stop` may be called from any thread; everything else happens on one strand.
class MailboxRun : public std::enable_shared_from_this<MailboxRun> {
public:
  MailboxRun(const boost::asio::any_io_executor& executor, std::shared_ptr<const MailboxPlan> plan);

  void start();
  void stop();

private:
  void open();
  void onOpen();
  void onLine(std::string_view line);
  void onEnd(const MailboxEnd& end);
  void lose(MailboxState state, std::string what, MailboxPause& pause);
  void onSettled(std::size_t settled, std::size_t reported);
  void onRefused(const protocol::MailboxFrame& frame, const std::string& what);
  /// Sets the gauges.
  void count(MailboxStatus& status) const;
  void show(MailboxState state, std::string what);
  [[nodiscard]] std::optional<HttpPost> settlePost(std::string body, std::string& problem) const;
  [[nodiscard]] std::shared_ptr<const protocol::OwnHeaders> token(std::string& problem) const;

  const boost::asio::any_io_executor strand_;
  const std::shared_ptr<const MailboxPlan> plan_;
  const std::shared_ptr<HttpPoster> client_;
  const std::shared_ptr<MailboxFrames> frames_;
  const std::shared_ptr<MailboxSettler> settler_;
  // Owned by the strand.
  const std::unique_ptr<Alarm> alarm_;
  MailboxPause away_;
  MailboxPause refused_;
  // Null while none is open or being opened.
  std::shared_ptr<MailboxLine> stream_;
  std::uint64_t lastStream_ = 0;
  std::optional<SteadyTime> openedAt_;
  MailboxState state_ = MailboxState::connecting;
  std::string what_;
  bool isStopped_ = false;
};

}  // namespace ackbox::transport
