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
class Networks;
class TlsContext;

/// One POST, ready to go.
struct HttpPost {
  Url url;
  /// Null for plain HTTP.
  std::shared_ptr<TlsContext> tls;
  /// Those that the connection may lead to. Null: all.
  std::shared_ptr<const Networks> networks;
  /// Without `host` and `content-length`, which are added.
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  /// The limit for everything from the first step to the last byte of the answer.
  std::chrono::milliseconds timeout{0};
  /// The answer's status is all that its sender needs: after it was read, a missing or damaged rest is no failure.
  /// Bytes that come within a second of it are still read, so that the connection can be kept.
  bool isStatusEnough = false;
};

/// How a POST ended.
enum class HttpEnd : std::uint8_t {
  /// A whole, well-formed answer within the limits came, with any status; or a status alone, where that is enough.
  answered,
  /// No connection, no answer in time, or an answer that is not HTTP.
  unavailable,
  /// The connection broke after the request may have gone out and before the whole answer came.
  connectionLost,
  /// The client was closed first.
  cancelled,
  /// This process lacks the descriptors or the memory for a connection.
  shortage,
};

/// The answer, or the reason why there is no answer.
struct HttpAnswer {
  HttpEnd end = HttpEnd::unavailable;
  /// Text for people, when `end` is not `answered`.
  std::string error;
  /// With `unavailable`: the timeout ended while the request was at the peer or on its way, or after the answer had
  /// begun.
  bool isAtPeer = false;
  /// With `unavailable`: the bytes received are not an acceptable HTTP answer.
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

/// One POST: takes or opens a connection, writes, reads the answer, gives the connection back.
///
/// Thread-safety: none; owned by one strand, on which the handler is called.
class HttpExchange {
public:
  virtual ~HttpExchange() = default;

  /// Calls the handler once, later. Call it once.
  virtual void start() = 0;

  /// Ends the exchange now with `HttpEnd::cancelled`; no effect after its end.
  virtual void cancel() = 0;
};

/// `options.clock` must be set. Keep the exchange until its end.
[[nodiscard]] std::shared_ptr<HttpExchange> makeHttpExchange(const boost::asio::any_io_executor& executor,
                                                             std::shared_ptr<const HttpSenderOptions> options,
                                                             std::shared_ptr<ConnectionPool> pool,
                                                             std::shared_ptr<ConnectionBudget> budget, HttpPost post,
                                                             HttpHandler handler);

}  // namespace ackbox::transport
