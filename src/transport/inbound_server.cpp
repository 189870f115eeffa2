#include "ackbox/inbound_server.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "ackbox/inbound_handler.hpp"
#include "protocol/wire.hpp"
#include "transport/http_server.hpp"

namespace ackbox {
namespace {

/// Stands between the sessions, which may outlive the server for a moment, and the handler, which need not.
class Gate {
public:
  explicit Gate(InboundHandler& handler) : handler_(&handler) {}

  void handle(InboundRequest&& request, transport::RequestSink::Respond&& respond) {
    const std::shared_lock lock(mutex_);
    if (handler_ != nullptr) {
      handler_->asyncHandle(std::move(request), std::move(respond));
    } else {
      respond(protocol::unavailable(false, "The server is being stopped."));
    }
  }

  void close() {
    const std::unique_lock lock(mutex_);
    handler_ = nullptr;
  }

private:
  std::shared_mutex mutex_;
  // Guarded by mutex_. Null once the server is gone.
  InboundHandler* handler_;
};

}  // namespace

class InboundServer::Body {
public:
  Body(const boost::asio::any_io_executor& executor, InboundHandler& handler, const InboundServerOptions& options)
      : gate_(std::make_shared<Gate>(handler)) {
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
                             InboundServerOptions options)
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

void InboundServer::stop() {
  body_->server->stop();
}

}  // namespace ackbox
