#include "ackbox/inbound_server.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/arrivals.hpp"
#include "base/home_process.hpp"
#include "base/mutex.hpp"
#include "base/own_thread.hpp"
#include "base/system_failure.hpp"
#include "protocol/inbound_port.hpp"
#include "protocol/wire.hpp"
#include "transport/http_server.hpp"
#include "transport/refusal.hpp"

namespace ackbox {
namespace {

namespace asio = boost::asio;
using protocol::HandlerThread;
using protocol::InboundPort;
using protocol::RequestForm;
using transport::RequestSink;

/// Stands between the sessions and the handler; neither need outlive the server. Requests under way hold only this
/// gate, not the waiting connection: its executor may be gone when they end.
class Gate : public std::enable_shared_from_this<Gate> {
public:
  Gate(std::weak_ptr<InboundPort> handler, const InboundServerOptions& options)
      : requestsMax_(options.connectionsMax),
        compatibilityPath_(options.compatibilityPath),
        handler_(std::move(handler)) {}

  void handle(InboundRequest&& request, const RequestSink::Respond& respond, HandlerThread thread) {
    const SharedLock lock(handlerMutex_);
    if (isClosed_) {
      respond(protocol::unavailable(false, "The server is being stopped."));
      return;
    }
    const std::shared_ptr<InboundPort> handler = handler_.lock();
    if (!handler) {
      respond(protocol::unavailable(false, "The handler has ended."));
      return;
    }
    const std::optional<std::uint64_t> number = enter(respond);
    if (!number) {
      respond(protocol::unavailable(false, "Too many requests are under way."));
      return;
    }
    const bool isAgenium = !compatibilityPath_.empty() && request.target == compatibilityPath_;
    try {
      handler->handle(
          std::move(request),
          [self = shared_from_this(), number = *number](InboundResponse response) {
            self->answer(number, std::move(response));
          },
          thread, isAgenium ? RequestForm::agenium : RequestForm::cloudEvents);
    } catch (...) {
      const MutexLock pendingLock(pendingMutex_);
      pending_.erase(*number);
      throw;
    }
  }

  /// See `RequestSink::worthReading`.
  [[nodiscard]] std::size_t worthReading(const InboundRequest& head) {
    const SharedLock lock(handlerMutex_);
    const std::shared_ptr<InboundPort> handler = isClosed_ ? nullptr : handler_.lock();
    return handler ? handler->bodyBytesWorthReading(head) : 0;
  }

  /// Reports an exception outside of any request, mostly for lack of memory.
  void report(const std::string& what) noexcept {
    const SharedLock lock(handlerMutex_);
    if (const std::shared_ptr<InboundPort> handler = isClosed_ ? nullptr : handler_.lock()) {
      handler->reportException(what);
    }
  }

  /// Answers all requests under way in the handler's place; after it returns, no session is touched from here.
  void close() {
    {
      const MutexLock lock(handlerMutex_);
      isClosed_ = true;
    }
    const MutexLock lock(pendingMutex_);
    for (const auto& [number, respond] : pending_) {
      respond(protocol::unavailable(false, "The server was stopped; the request may still take effect once."));
    }
    pending_.clear();
  }

private:
  // A request still counts after its connection gave up waiting: until the handler ends it, it takes memory.
  std::optional<std::uint64_t> enter(const RequestSink::Respond& respond) ACKBOX_EXCLUDES(pendingMutex_) {
    const MutexLock lock(pendingMutex_);
    if (pending_.size() >= requestsMax_) {
      return std::nullopt;
    }
    pending_.emplace(++lastNumber_, respond);
    return lastNumber_;
  }

  // Under the lock, so that `close` waits for it: the session posts or begins to write, and does not call back here.
  void answer(std::uint64_t number, InboundResponse&& response) ACKBOX_EXCLUDES(pendingMutex_) {
    const MutexLock lock(pendingMutex_);
    if (const auto found = pending_.extract(number)) {
      found.mapped()(std::move(response));
    }
  }

  const std::size_t requestsMax_;
  const std::string compatibilityPath_;
  // Held while the handler is called.
  SharedMutex handlerMutex_;
  const std::weak_ptr<InboundPort> handler_;
  bool isClosed_ ACKBOX_GUARDED_BY(handlerMutex_) = false;

  Mutex pendingMutex_;
  std::unordered_map<std::uint64_t, RequestSink::Respond> pending_ ACKBOX_GUARDED_BY(pendingMutex_);
  std::uint64_t lastNumber_ ACKBOX_GUARDED_BY(pendingMutex_) = 0;
};

}  // namespace

class InboundServer::Impl {
public:
  Impl(InboundHandler& handler, const InboundServerOptions& options)
      : gate_(std::make_shared<Gate>(InboundPort::shared(handler), options)) {
    const OnException report = [gate = gate_](const std::string& what) { gate->report(what); };
    ownThread_.emplace(report);
    const auto arrivals = std::make_shared<Arrivals>(
        ownThread_->executor(),
        [gate = gate_, report](InboundRequest&& request, RequestSink::Respond& respond, bool isLone) {
          // An exception must not reach the requests that came together with this one.
          reportingThrown(report, [&] {
            try {
              gate->handle(std::move(request), respond, isLone ? HandlerThread::caller : HandlerThread::store);
            } catch (...) {
              respond(transport::handlerFailed());
              throw;
            }
          });
        });
    listen(ownThread_->executor(), transport::Threads::one, InboundPort::of(handler), options,
           [arrivals](InboundRequest request, RequestSink::Respond respond) {
             arrivals->add(std::move(request), std::move(respond));
           });
  }

  Impl(const asio::any_io_executor& executor, InboundHandler& handler, const InboundServerOptions& options)
      : gate_(std::make_shared<Gate>(InboundPort::shared(handler), options)) {
    listen(executor, transport::Threads::any, InboundPort::of(handler), options,
           [gate = gate_](InboundRequest request, const RequestSink::Respond& respond) {
             gate->handle(std::move(request), respond, HandlerThread::store);
           });
  }

  ~Impl() {
    server_->stop();
    gate_->close();
    if (ownThread_) {
      ownThread_->end();
    }
  }

  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  [[nodiscard]] const HomeProcess& home() const noexcept { return home_; }
  [[nodiscard]] transport::HttpServer& server() noexcept { return *server_; }

private:
  void listen(const asio::any_io_executor& executor, transport::Threads threads, const InboundPort& handler,
              const InboundServerOptions& options, std::function<void(InboundRequest, RequestSink::Respond)> handle) {
    RequestSink sink;
    sink.bodyBytesMax = handler.bodyBytesMax();
    sink.handle = std::move(handle);
    sink.worthReading = [gate = gate_](const InboundRequest& head) { return gate->worthReading(head); };
    server_ = std::make_shared<transport::HttpServer>(executor, options, std::move(sink), systemClock(), threads);
    server_->start();
    handler.usesCertificate(options.tls.certificateFile);
  }

  const HomeProcess home_;
  // Outlives everything that runs on it. Absent: the executor is the caller's.
  std::optional<OwnThread> ownThread_;
  const std::shared_ptr<Gate> gate_;
  std::shared_ptr<transport::HttpServer> server_;
};

InboundServer::InboundServer(InboundHandler& handler, const InboundServerOptions& options)
    : impl_(withDescriptors([&] { return std::make_shared<Impl>(handler, options); })) {}

InboundServer::InboundServer(const asio::any_io_executor& executor, InboundHandler& handler,
                             const InboundServerOptions& options)
    : impl_(withDescriptors([&] { return std::make_shared<Impl>(executor, handler, options); })) {}

InboundServer::InboundServer(InboundServer&&) noexcept = default;

InboundServer& InboundServer::operator=(InboundServer&& other) noexcept {
  if (this != &other) {
    const InboundServer ending(std::move(*this));
    impl_ = std::move(other.impl_);
  }
  return *this;
}

InboundServer::~InboundServer() {
  if (impl_ && !impl_->home().isHere()) {
    HomeProcess::abandon(std::move(impl_));
  }
}

std::uint16_t InboundServer::port() const noexcept {
  return impl_->server().port();
}

std::string InboundServer::url() const {
  return impl_->server().url();
}

InboundServerStats InboundServer::stats() const {
  return impl_->server().stats();
}

void InboundServer::reloadCertificates() {
  impl_->home().require();
  impl_->server().reloadCertificates();
}

void InboundServer::stop() {
  if (impl_->home().isHere()) {
    impl_->server().stop();
  }
}

}  // namespace ackbox
