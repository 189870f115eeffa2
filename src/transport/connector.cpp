#include "transport/connector.hpp"

#include <boost/asio/post.hpp>
#include <boost/system/errc.hpp>
#include <exception>
#include <utility>

#include "transport/descriptors.hpp"

namespace ackbox::transport {

namespace asio = boost::asio;
using boost::system::error_code;
namespace errc = boost::system::errc;

namespace {

bool isOurs(const error_code& error) {
  return error == errc::too_many_files_open || error == errc::too_many_files_open_in_system ||
         error == errc::no_buffer_space || error == errc::not_enough_memory;
}

}  // namespace

Connector::Connector(const asio::any_io_executor& executor, std::shared_ptr<const HttpSenderOptions> options)
    : executor_(executor),
      options_(std::move(options)),
      alarm_(options_->clock->makeAlarm(executor)),
      resolver_(executor) {}

template <typename Step>
void Connector::guard(const Step& step) {
  try {
    step();
  } catch (const std::exception& thrown) {
    if (!handler_) {
      // An exception of the handler itself.
      throw;
    }
    Handler handler = std::move(handler_);
    cancel();
    handler(nullptr, {.error = "connecting to " + authority_ + ": " + thrown.what(), .isOurs = true});
  }
}

void Connector::start(const Url& url, std::shared_ptr<TlsContext> tls, std::shared_ptr<const Networks> networks,
                      Handler handler) {
  tls_ = std::move(tls);
  networks_ = std::move(networks);
  host_ = url.host;
  handler_ = std::move(handler);
  authority_ = url.authority();
  error_code notNumeric;
  const asio::ip::address address = asio::ip::make_address(url.host, notNumeric);
  if (notNumeric) {
    resolve(url);
  } else {
    endpoints_.emplace_back(address, url.port);
    // Posted, because a forbidden address ends the attempt in `tryNext`.
    asio::post(executor_, [self = shared_from_this()] {
      if (self->handler_) {
        self->guard([&] { self->tryNext(); });
      }
    });
  }
}

void Connector::cancel() {
  handler_ = nullptr;
  alarm_->cancel();
  resolver_.cancel();
  if (socket_) {
    error_code ignored;
    socket_->close(ignored);
  }
  if (stream_) {
    stream_->close();
  }
}

// A name service that hangs cannot be interrupted. The alarm reports the timeout, and a late reply finds no handler.
void Connector::resolve(const Url& url) {
  setAlarm(options_->resolveTimeout, &Connector::onResolveTimeout);
  resolver_.async_resolve(
      url.host, std::to_string(url.port), asio::ip::resolver_base::numeric_service,
      [self = shared_from_this()](const error_code& error, const asio::ip::tcp::resolver::results_type& results) {
        if (self->handler_) {
          self->guard([&] { self->onResolved(error, results); });
        }
      });
}

void Connector::onResolved(const error_code& error, const asio::ip::tcp::resolver::results_type& results) {
  alarm_->cancel();
  if (error) {
    failure_.error = "resolving " + authority_ + ": " + error.message();
    // A resolver that can open no descriptor reports this in many ways, such as that the name was not found.
    failure_.isOurs = isOutOfDescriptors();
  }
  for (const auto& entry : results) {
    endpoints_.push_back(entry.endpoint());
  }
  tryNext();
}

void Connector::tryNext() {
  skipForbidden();
  if (next_ == endpoints_.size()) {
    finish(nullptr);
    return;
  }
  socket_ = std::make_shared<asio::ip::tcp::socket>(executor_);
  setAlarm(options_->connectTimeout, &Connector::onConnectTimeout);
  socket_->async_connect(endpoints_[next_++], [self = shared_from_this(), socket = socket_](const error_code& error) {
    if (self->handler_ && socket == self->socket_) {
      self->guard([&] { self->onConnected(error); });
    }
  });
}

// Checked here, not where the name is resolved: no address reaches `async_connect` without it.
void Connector::skipForbidden() {
  for (; networks_ && next_ < endpoints_.size(); ++next_) {
    const asio::ip::address address = endpoints_[next_].address();
    if (networks_->permit(address)) {
      return;
    }
    // The failure of a permitted address says more.
    if (failure_.error.empty()) {
      failure_.error = "connecting to " + authority_ + ": " + address.to_string() +
                       " is not in a network that this peer may use (networks)";
    }
  }
}

void Connector::onConnected(const error_code& error) {
  alarm_->cancel();
  if (error) {
    failure_.error = "connecting to " + authority_ + ": " + error.message();
    if (isOurs(error)) {
      failure_.isOurs = true;
      finish(nullptr);
      return;
    }
    tryNext();
    return;
  }
  asio::ip::tcp::socket socket = std::move(*std::exchange(socket_, nullptr));
  error_code ignored;
  socket.set_option(asio::ip::tcp::no_delay(true), ignored);
  if (!tls_) {
    finish(makePlainStream(std::move(socket)));
    return;
  }
  stream_ = makeTlsClientStream(std::move(socket), *tls_, host_, options_->clock->wallNow());
  setAlarm(options_->handshakeTimeout, &Connector::onHandshakeTimeout);
  stream_->asyncHandshake([self = shared_from_this(), stream = stream_](const std::string& failure) {
    if (self->handler_ && stream == self->stream_) {
      self->guard([&] { self->onHandshake(failure); });
    }
  });
}

void Connector::onHandshake(const std::string& failure) {
  alarm_->cancel();
  std::shared_ptr<Stream> stream = std::exchange(stream_, nullptr);
  if (failure.empty()) {
    finish(std::move(stream));
  } else {
    failure_.error = "connecting to " + authority_ + ": " + failure;
    tryNext();
  }
}

void Connector::finish(std::shared_ptr<Stream> stream) {
  socket_ = nullptr;
  std::exchange(handler_, nullptr)(std::move(stream), failure_);
}

void Connector::setAlarm(std::chrono::milliseconds timeout, void (Connector::*action)()) {
  alarm_->set(options_->clock->steadyNow() + timeout, [weak = weak_from_this(), action] {
    if (const auto self = weak.lock(); self && self->handler_) {
      self->guard([&] { (self.get()->*action)(); });
    }
  });
}

void Connector::onResolveTimeout() {
  failure_.error = "resolving " + authority_ + ": timed out";
  finish(nullptr);
}

void Connector::onConnectTimeout() {
  failure_.error = "connecting to " + authority_ + ": timed out";
  error_code ignored;
  socket_->close(ignored);
  tryNext();
}

void Connector::onHandshakeTimeout() {
  failure_.error = "connecting to " + authority_ + ": the TLS handshake timed out";
  std::exchange(stream_, nullptr)->close();
  tryNext();
}

}  // namespace ackbox::transport
