#include "transport/http_server.hpp"

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <chrono>
#include <exception>
#include <utility>

#include "ackbox/error.hpp"
#include "base/system_failure.hpp"
#include "transport/descriptors.hpp"
#include "transport/http_session.hpp"
#include "transport/listener.hpp"
#include "transport/option_rows.hpp"
#include "transport/request_budget.hpp"
#include "transport/stream.hpp"
#include "transport/tls_context.hpp"

namespace ackbox::transport {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

// When descriptors or memory have run out, accepting again at once would only spin.
constexpr std::chrono::milliseconds kAcceptPause{100};

void require(bool holds, const char* field, const char* problem) {
  if (!holds) {
    throw OptionError(field, problem);
  }
}

std::shared_ptr<const HttpSessionOptions> sessionOptions(const InboundServerOptions& options, RequestSink&& sink,
                                                         std::shared_ptr<Clock>&& clock) {
  validate(options, sink.bodyBytesMax);
  HttpSessionOptions made;
  made.path = options.path;
  made.compatibilityPath = options.compatibilityPath;
  made.headerBytesMax = options.headerBytesMax;
  made.onLoopback = ListenAddress(options.address, options.port).isLocal();
  made.handshakeTimeout = options.handshakeTimeout;
  made.requestTimeout = options.requestTimeout;
  made.writeTimeout = options.writeTimeout;
  made.idleTimeout = options.idleTimeout;
  made.connectionAge = options.connectionAge;
  made.budget = std::make_shared<RequestBudget>(options.requestBytesMax);
  made.totals = std::make_shared<HttpSessionTotals>();
  made.clock = std::move(clock);
  made.sink = std::move(sink);
  return std::make_shared<const HttpSessionOptions>(std::move(made));
}

std::unique_ptr<TlsContext> makeTls(const TlsServerOptions& options, const std::shared_ptr<Clock>& clock) {
  return options.certificateFile.empty() ? nullptr : std::make_unique<TlsContext>(options, clock);
}

}  // namespace

void validate(const InboundServerOptions& options, std::size_t bodyBytesMax) {
  require(!options.path.empty() && options.path.front() == '/', "path", "must begin with '/'");
  require(options.compatibilityPath.empty() ||
              (options.compatibilityPath.front() == '/' && options.compatibilityPath != options.path),
          "compatibilityPath", "must begin with '/' and be another than `path`, or be empty");
  checkOptions(serverOptionRows(), options);
  require(options.requestBytesMax / 2 >= bodyBytesMax, "requestBytesMax",
          "must be at least twice `InboundOptions::bodyBytesMax`");
  const TlsServerOptions& tls = options.tls;
  const bool isTls = !tls.certificateFile.empty();
  require(isTls || (tls.keyFile.empty() && tls.clientAuthorityFile.empty() && tls.crlFile.empty()),
          "tls.certificateFile", "must be set where `keyFile`, `clientAuthorityFile` or `crlFile` is");
  require(tls.crlFile.empty() || !tls.clientAuthorityFile.empty(), "tls.clientAuthorityFile",
          "must be set where `crlFile` is");
  require(isTls || options.allowPlainHttp || ListenAddress(options.address, options.port).isLocal(), "address",
          "plain HTTP beyond loopback must be asked for with `allowPlainHttp`, or `tls` be set");
}

HttpServer::HttpServer(const asio::any_io_executor& executor, const InboundServerOptions& options, RequestSink sink,
                       std::shared_ptr<Clock> clock, Threads threads)
    : executor_(executor),
      threads_(threads),
      connectionsMax_(connectionsWithinLimit(options.connectionsMax)),
      sessionOptions_(sessionOptions(options, std::move(sink), std::move(clock))),
      tls_(makeTls(options.tls, sessionOptions_->clock)),
      address_(options.address, options.port),
      acceptor_(makeStrand()),
      alarm_(sessionOptions_->clock->makeAlarm(acceptor_.get_executor())) {
  address_.listen(acceptor_);
  unshared_.hold([descriptor = acceptor_.native_handle()] { return descriptor; });
}

HttpServer::~HttpServer() = default;

asio::any_io_executor HttpServer::makeStrand() const {
  return threads_ == Threads::one ? executor_ : asio::any_io_executor(asio::make_strand(executor_));
}

std::string HttpServer::url() const {
  return address_.isUnix() ? address_.text()
                           : (tls_ ? "https://" : "http://") + address_.text() + sessionOptions_->path;
}

void HttpServer::reloadCertificates() {
  if (tls_) {
    tls_->reload();
  }
}

InboundServerStats HttpServer::stats() const {
  const HttpSessionTotals& totals = *sessionOptions_->totals;
  InboundServerStats made;
  made.connectionsMax = connectionsMax_;
  made.requestBytes = sessionOptions_->budget->bytes();
  made.refused = totals.refused;
  made.evicted = totals.evicted;
  made.broken = totals.broken;
  const MutexLock lock(mutex_);
  made.connections = sessions_.size();
  return made;
}

void HttpServer::start() {
  const MutexLock lock(mutex_);
  accept();
}

// The port is free when this returns; the connections end later.
void HttpServer::stop() {
  const MutexLock lock(mutex_);
  if (std::exchange(stopped_, true)) {
    return;
  }
  error_code ignored;
  unshared_.release([&](int) {
    mutex_.assertHeld();
    acceptor_.close(ignored);
  });
  address_.removeFile();
  waiting_.reset();
  for (const auto& [number, session] : sessions_) {
    session->stop();
  }
  asio::post(acceptor_.get_executor(), [self = shared_from_this()] { self->alarm_->cancel(); });
}

// A session's members only post, so no call comes back here while the lock is held. While no session can give way, new
// connections wait in the kernel's backlog.
void HttpServer::accept() {
  if (stopped_ || accepting_ || waiting_ || (sessions_.size() >= connectionsMax_ && !oldestToGo())) {
    return;
  }
  accepting_ = true;
  try {
    acceptor_.async_accept(makeStrand(), [self = shared_from_this()](const error_code& error, Socket socket) {
      const MutexLock lock(self->mutex_);
      self->accepting_ = false;
      self->onAccept(error, std::move(socket));
    });
  } catch (const std::exception&) {
    // The end of the next session calls this again.
    accepting_ = false;
  }
}

void HttpServer::onAccept(const error_code& error, Socket&& socket) {
  if (stopped_) {
    return;
  }
  try {
    if (error && error != asio::error::connection_aborted) {
      onAcceptError();
      return;
    }
    if (!error) {
      waiting_ = std::move(socket);
    }
    admit();
  } catch (const std::exception&) {
    ++sessionOptions_->totals->broken;
    pause();
  }
}

// Called whenever a slot for a connection may have become free.
void HttpServer::admit() {
  if (waiting_ && !stopped_) {
    if (sessions_.size() < connectionsMax_) {
      serve(*std::exchange(waiting_, std::nullopt));
    } else if (const std::shared_ptr<HttpSession> idler = oldestToGo()) {
      idler->evict();
    }
  }
  accept();
}

std::shared_ptr<HttpSession> HttpServer::oldestToGo() const {
  for (const auto& [age, session] : sessions_) {
    if (session->isIdler()) {
      return session;
    }
  }
  for (const auto& [age, session] : sessions_) {
    if (session->isAtRest()) {
      return session;
    }
  }
  return nullptr;
}

// A connection that cannot be served is dropped; the server goes on.
void HttpServer::serve(Socket socket) {
  error_code ignored;
  socket.set_option(asio::ip::tcp::no_delay(true), ignored);
  const std::uint64_t number = ++lastSession_;
  try {
    const std::shared_ptr<Stream> stream =
        tls_ ? makeTlsServerStream(std::move(socket), *tls_, sessionOptions_->clock->wallNow())
             : makePlainStream(std::move(socket));
    const std::shared_ptr<HttpSession> session = makeHttpSession(stream, sessionOptions_, makeWatcher(number));
    sessions_.emplace(number, session);
    session->start();
  } catch (const std::exception&) {
    sessions_.erase(number);
    ++sessionOptions_->totals->broken;
  }
}

// The pointers are weak, so that destroying a context with open connections leaves no cycle.
HttpSessionWatcher HttpServer::makeWatcher(std::uint64_t number) {
  HttpSessionWatcher watcher;
  watcher.ended = [weak = weak_from_this(), number] {
    if (const auto self = weak.lock()) {
      const MutexLock lock(self->mutex_);
      self->sessions_.erase(number);
      self->admit();
    }
  };
  watcher.changed = [weak = weak_from_this()] {
    if (const auto self = weak.lock()) {
      const MutexLock lock(self->mutex_);
      self->admit();
    }
  };
  watcher.overdrawn = [weak = weak_from_this()] {
    const auto self = weak.lock();
    return self && self->relieve();
  };
  return watcher;
}

// Closes the idler with the largest request: a proof of identity needs few bytes.
bool HttpServer::relieve() {
  const MutexLock lock(mutex_);
  std::shared_ptr<HttpSession> largest;
  for (const auto& [age, session] : sessions_) {
    if (session->isIdler() && session->bytesHeld() > (largest ? largest->bytesHeld() : 0)) {
      largest = session;
    }
  }
  if (largest) {
    largest->evict();
  }
  return largest != nullptr;
}

// Descriptors have run out in most cases, and evicting the oldest idler frees one at once. If other code takes that
// descriptor, or the idler is no longer one, the pause leads to another attempt.
void HttpServer::onAcceptError() {
  if (const std::shared_ptr<HttpSession> idler = oldestToGo()) {
    idler->evict();
  }
  pause();
}

// Runs on the acceptor's strand, which owns the alarm.
void HttpServer::pause() {
  alarm_->set(sessionOptions_->clock->steadyNow() + kAcceptPause, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) {
      const MutexLock lock(self->mutex_);
      self->admit();
    }
  });
}

}  // namespace ackbox::transport
