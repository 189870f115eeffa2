#include "ackbox/inbound_server.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <unordered_map>
#include <utility>

#include "ackbox/inbound_handler.hpp"
#include "protocol/wire.hpp"
#include "transport/http_server.hpp"

namespace ackbox {
namespace {

/// Stands between the sessions and the handler. Neither need outlive the server: requests under way hold only this, and
/// not the connection that waits for them, whose executor may be gone when they end.
class Gate : public std::enable_shared_from_this<Gate> {
public:
  Gate(InboundHandler& handler, std::size_t requestsMax) : requestsMax_(requestsMax), handler_(&handler) {}

  void handle(InboundRequest&& request, transport::RequestSink::Respond&& respond) {
    const std::shared_lock lock(handlerMutex_);
    if (handler_ == nullptr) {
      respond(protocol::unavailable(false, "The server is being stopped."));
      return;
    }
    const std::optional<std::uint64_t> number = enter(respond);
    if (!number) {
      respond(protocol::unavailable(false, "Too many requests are under way."));
      return;
    }
    try {
      handler_->asyncHandle(std::move(request),
                            [self = shared_from_this(), number = *number](InboundResponse response) {
                              self->answer(number, std::move(response));
                            });
    } catch (...) {
      const std::scoped_lock pendingLock(pendingMutex_);
      pending_.erase(*number);
      throw;
    }
  }

  /// Answers for the handler whatever is still under way; when it returns, no session is touched from here any more.
  void close() {
    {
      const std::unique_lock lock(handlerMutex_);
      handler_ = nullptr;
    }
    const std::scoped_lock lock(pendingMutex_);
    for (const auto& [number, respond] : pending_) {
      respond(protocol::unavailable(false, "The server was stopped; the request may still take effect once."));
    }
    pending_.clear();
  }

private:
  // A request whose connection gave up waiting is still one: what the handler has not ended takes memory.
  std::optional<std::uint64_t> enter(const transport::RequestSink::Respond& respond) {
    const std::scoped_lock lock(pendingMutex_);
    if (pending_.size() >= requestsMax_) {
      return std::nullopt;
    }
    pending_.emplace(++lastNumber_, respond);
    return lastNumber_;
  }

  // Under the lock, so that `close` waits for it: the session only posts, and never comes back here meanwhile.
  void answer(std::uint64_t number, InboundResponse&& response) {
    const std::scoped_lock lock(pendingMutex_);
    if (const auto found = pending_.extract(number)) {
      found.mapped()(std::move(response));
    }
  }

  const std::size_t requestsMax_;
  std::shared_mutex handlerMutex_;
  // Guarded by handlerMutex_. Null once the server is gone.
  InboundHandler* handler_;

  std::mutex pendingMutex_;
  // Guarded by pendingMutex_.
  std::unordered_map<std::uint64_t, transport::RequestSink::Respond> pending_;
  std::uint64_t lastNumber_ = 0;
};

}  // namespace

class InboundServer::Body {
public:
  Body(const boost::asio::any_io_executor& executor, InboundHandler& handler, const InboundServerOptions& options)
      : gate_(std::make_shared<Gate>(handler, options.connectionsMax)) {
    transport::RequestSink sink;
    sink.bodyBytesMax = handler.options().bodyBytesMax;
    sink.handle = [gate = gate_](InboundRequest request, transport::RequestSink::Respond respond) {
      gate->handle(std::move(request), std::move(respond));
    };
    server = std::make_shared<transport::HttpServer>(executor, options, std::move(sink));
    server->start();
  }

  ~Body() {
    server->stop();
    gate_->close();
  }

  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;

  std::shared_ptr<transport::HttpServer> server;

private:
  const std::shared_ptr<Gate> gate_;
};

InboundServer::InboundServer(const boost::asio::any_io_executor& executor, InboundHandler& handler,
                             const InboundServerOptions& options)
    : body_(std::make_shared<Body>(executor, handler, options)) {}

InboundServer::InboundServer(InboundServer&&) noexcept = default;
InboundServer& InboundServer::operator=(InboundServer&&) noexcept = default;
InboundServer::~InboundServer() = default;

std::uint16_t InboundServer::port() const noexcept {
  return body_->server->port();
}

std::string InboundServer::url() const {
  return body_->server->url();
}

void InboundServer::reloadCertificates() {
  body_->server->reloadCertificates();
}

void InboundServer::stop() {
  body_->server->stop();
}

}  // namespace ackbox
