#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ackbox/http_sender.hpp"
#include "protocol/signature.hpp"
#include "transport/url.hpp"

namespace ackbox::transport {

class ConnectionBudget;
class ConnectionPool;
class TlsContext;

/// One POST, ready to go.
struct HttpPost {
  Url url;
  /// Null for plain HTTP.
  std::shared_ptr<TlsContext> tls;
  /// Beside `host` and `content-length`, which are added.
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  /// For everything from the first step to the last byte of the answer.
  std::chrono::milliseconds timeout{0};
  /// The answer's status is all that its sender needs: once that was read, whatever follows it, or does not, is no
  /// failure. What comes within a second of it is still read, so that the connection can be kept.
  bool isStatusEnough = false;
};

/// How a POST ended.
enum class HttpEnd : std::uint8_t {
  /// A whole, well-formed answer within the limits came, whatever its status; or a status, where that is enough.
  answered,
  /// No connection, no answer in time, or something that is no HTTP answer.
  unavailable,
  /// The connection broke after the request may have gone out and before the whole answer came.
  connectionLost,
  /// The client was closed first.
  cancelled,
  /// This process has nothing left to open a connection with.
  shortage,
};

/// The answer, or why it is missing.
struct HttpAnswer {
  HttpEnd end = HttpEnd::unavailable;
  /// For people, when not `answered`.
  std::string error;
  /// Where it is `unavailable`: the request was at the peer, or on its way, when its time was over, or the beginning of
  /// an answer had come.
  bool isAtPeer = false;
  /// Where it is `unavailable`: something came that is no acceptable HTTP answer.
  bool isUnreadable = false;
  int status = 0;
  std::string contentType;
  std::string retryAfter;
  std::string date;
  /// As received.
  protocol::SignatureHeaders signature;
  std::string body;
};

using HttpHandler = std::function<void(HttpAnswer)>;

/// One POST under way: takes or opens a connection, writes, reads the answer, gives the connection back.
///
/// Thread-safety: none; owned by one strand, on which the handler is called.
class HttpExchange {
public:
  virtual ~HttpExchange() = default;

  /// Calls the handler once, later. Call it once.
  virtual void start() = 0;

  /// Ends it now with `HttpEnd::cancelled`; no effect after the end.
  virtual void cancel() = 0;
};

/// `options.clock` must be set. Keep the exchange until its end.
[[nodiscard]] std::shared_ptr<HttpExchange> makeHttpExchange(const boost::asio::any_io_executor& executor,
                                                             std::shared_ptr<const HttpSenderOptions> options,
                                                             std::shared_ptr<ConnectionPool> pool,
                                                             std::shared_ptr<ConnectionBudget> budget, HttpPost post,
                                                             HttpHandler handler);

}  // namespace ackbox::transport
