#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <unordered_set>

#include "ackbox/http_sender.hpp"
#include "transport/http_exchange.hpp"
#include "transport/http_poster.hpp"

namespace ackbox::transport {

/// Posts over kept connections, during one run of an `HttpSender`.
///
/// Thread-safety: all members may be called from any thread; everything happens on one strand of the executor.
class HttpClient final : public HttpPoster, public std::enable_shared_from_this<HttpClient> {
public:
  /// `options.clock` must be set.
  HttpClient(const boost::asio::any_io_executor& executor, std::shared_ptr<const HttpSenderOptions> options);

  /// Calls `handler` once, on the strand, never inside this call.
  void asyncPost(HttpPost post, HttpHandler handler) override;

  /// Runs `task` on the strand, never inside this call.
  void post(std::function<void()> task);

  /// Ends all exchanges, and those that are started later, with `HttpEnd::cancelled`; closes the idle connections.
  void close() override;

  /// The number of open connections, and its limit.
  [[nodiscard]] std::size_t connections() const noexcept;
  [[nodiscard]] std::size_t connectionsMax() const noexcept;

private:
  void start(HttpPost post, HttpHandler handler);

  const boost::asio::any_io_executor strand_;
  const std::shared_ptr<const HttpSenderOptions> options_;
  // Owned by the strand.
  const std::shared_ptr<ConnectionPool> pool_;
  const std::shared_ptr<ConnectionBudget> budget_;
  std::unordered_set<std::shared_ptr<HttpExchange>> exchanges_;
  bool closed_ = false;
};

}  // namespace ackbox::transport
