#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ackbox/http_sender.hpp"
#include "transport/connection_pool.hpp"
#include "transport/networks.hpp"
#include "transport/url.hpp"

namespace ackbox::transport {

/// Opens one connection: resolves the name, then tries its addresses in turn, each with a timeout for connecting and
/// one for the TLS handshake.
///
/// Thread-safety: none; owned by the strand `executor`, on which the handler is called.
class Connector : public std::enable_shared_from_this<Connector> {
public:
  /// Why there is no connection.
  struct Failure {
    /// Text for people.
    std::string error;
    /// This process lacks the descriptors or the memory; the failure says nothing about the peer.
    bool isOurs = false;
  };

  /// Called with an open connection, or with null and the failure.
  using Handler = std::function<void(std::shared_ptr<Stream> stream, const Failure& failure)>;

  /// `options.clock` must be set.
  Connector(const boost::asio::any_io_executor& executor, std::shared_ptr<const HttpSenderOptions> options);

  /// Calls `handler` once, later. Call it once. `tls` is null for plain HTTP. Addresses that are not in `networks` are
  /// skipped; null: all are permitted.
  void start(const Url& url, std::shared_ptr<TlsContext> tls, std::shared_ptr<const Networks> networks,
             Handler handler);

  /// After it returns, the handler is not called.
  void cancel();

private:
  using Endpoint = boost::asio::ip::tcp::endpoint;

  /// Runs `step`. An exception from it ends this attempt; it must not reach the executor, which serves all others.
  template <typename Step>
  void guard(const Step& step);
  void resolve(const Url& url);
  void tryNext();
  void skipForbidden();
  void onResolved(const boost::system::error_code& error, const boost::asio::ip::tcp::resolver::results_type& results);
  void onConnected(const boost::system::error_code& error);
  void onHandshake(const std::string& failure);
  void finish(std::shared_ptr<Stream> stream);
  void setAlarm(std::chrono::milliseconds timeout, void (Connector::*action)());
  void onResolveTimeout();
  void onConnectTimeout();
  void onHandshakeTimeout();

  const boost::asio::any_io_executor executor_;
  const std::shared_ptr<const HttpSenderOptions> options_;
  const std::unique_ptr<Alarm> alarm_;
  boost::asio::ip::tcp::resolver resolver_;
  std::string authority_;
  std::string host_;
  std::shared_ptr<TlsContext> tls_;
  std::shared_ptr<const Networks> networks_;
  // Null after the end was reported or the attempt was cancelled.
  Handler handler_;
  std::vector<Endpoint> endpoints_;
  std::size_t next_ = 0;
  // The socket of the current attempt. A completion of any other socket is stale.
  std::shared_ptr<boost::asio::ip::tcp::socket> socket_;
  // The same connection, after its handshake began.
  std::shared_ptr<Stream> stream_;
  Failure failure_;
};

}  // namespace ackbox::transport
