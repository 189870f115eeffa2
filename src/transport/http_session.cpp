#include "transport/http_session.hpp"

#include <algorithm>
#include <atomic>
#include <boost/asio/buffer.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "transport/refusal.hpp"
#include "transport/stream.hpp"

namespace ackbox::transport {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;

constexpr std::size_t kFirstReadBytes = 4096;
constexpr const char* kOnceOnly[] = {"webhook-id",   "webhook-timestamp", "webhook-signature",
                                     "outbox-agent", "outbox-version",    "content-type"};
constexpr boost::beast::string_view kEventPrefix = "ce-";
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
// How long, and how much of, a refused request is read and thrown away, so that the refusal is not lost to the reset
// that closing a socket with unread bytes causes.
constexpr std::chrono::milliseconds kLingerTimeout{1000};
constexpr std::size_t kLingerBytesMax = std::size_t{16} * 1024 * 1024;

bool isMalformed(const error_code& error) {
  static const boost::system::error_category& category = http::make_error_code(http::error::end_of_stream).category();
  return error.category() == category && error != http::error::end_of_stream && error != http::error::partial_message;
}

class Session final : public HttpSession, public std::enable_shared_from_this<Session> {
public:
  Session(std::shared_ptr<Stream> stream, std::shared_ptr<const HttpSessionOptions> options, HttpSessionWatcher watcher)
      : options_(std::move(options)),
        stream_(std::move(stream)),
        alarm_(options_->clock->makeAlarm(stream_->get_executor())),
        watcher_(std::move(watcher)),
        buffer_(options_->headerBytesMax + kReadAheadBytes) {}

  void start() override {
    asio::post(stream_->get_executor(), [self = shared_from_this()] { self->shakeHands(); });
  }

  void stop() override {
    asio::post(stream_->get_executor(), [self = shared_from_this()] {
      self->stopping_ = true;
      if (self->phase_ == Phase::idle || self->phase_ == Phase::handshaking) {
        self->close();
      }
    });
  }

  [[nodiscard]] bool isIdler() const noexcept override { return isIdler_; }

  void giveWay() override {
    asio::post(stream_->get_executor(), [self = shared_from_this()] {
      if (self->phase_ == Phase::closed) {
        return;
      }
      if (self->isIdler_) {
        self->close();
      } else {
        self->watcher_.changed();
      }
    });
  }

private:
  using Parser = http::request_parser<http::string_body>;

  enum class Phase : std::uint8_t {
    /// Before the first request, and over at once without TLS.
    handshaking,
    /// Not one byte of the next request is here.
    idle,
    reading,
    handling,
    /// Writing the answer, or what follows the last one.
    writing,
    closed,
  };

  void shakeHands() {
    phase_ = Phase::handshaking;
    setAlarm(options_->handshakeTimeout);
    stream_->asyncHandshake([self = shared_from_this()](const std::string& failure) {
      if (self->phase_ != Phase::handshaking) {
        return;
      }
      if (failure.empty()) {
        self->certificateAgents_ = self->stream_->peerUris();
        self->awaitRequest();
      } else {
        self->close();
      }
    });
  }

  void awaitRequest() {
    if (phase_ == Phase::closed) {
      return;
    }
    phase_ = Phase::idle;
    if (stopping_) {
      close();
      return;
    }
    becomeIdler();
    if (buffer_.size() > 0) {
      readHeader();
      return;
    }
    // An idle connection keeps nothing of its last exchange.
    parser_.reset();
    response_ = {};
    setAlarm(options_->idleTimeout);
    stream_->async_read_some(buffer_.prepare(kFirstReadBytes),
                             [self = shared_from_this()](const error_code& error, std::size_t size) {
                               if (error) {
                                 self->close();
                                 return;
                               }
                               self->buffer_.commit(size);
                               self->readHeader();
                             });
  }

  void readHeader() {
    if (phase_ == Phase::closed) {
      return;
    }
    phase_ = Phase::reading;
    ++requestNumber_;
    parser_.emplace();
    parser_->header_limit(static_cast<std::uint32_t>(options_->headerBytesMax));
    parser_->body_limit(options_->sink.bodyBytesMax);
    setAlarm(options_->requestTimeout);
    if (const error_code error = parseBuffered(); error || parser_->is_header_done()) {
      onHeader(error);
      return;
    }
    http::async_read_header(*stream_, buffer_, *parser_,
                            [self = shared_from_this()](const error_code& error, std::size_t) {
                              if (self->phase_ == Phase::reading) {
                                self->onHeader(error);
                              }
                            });
  }

  // What is here already, mostly all of the request, needs no turn of the executor.
  error_code parseBuffered() {
    error_code error;
    if (buffer_.size() > 0 && !parser_->is_done()) {
      buffer_.consume(parser_->put(buffer_.data(), error));
    }
    return error == http::error::need_more ? error_code() : error;
  }

  void onHeader(const error_code& error) {
    if (error) {
      onReadError(error);
      return;
    }
    const auto& request = parser_->get();
    const std::string_view target(request.target().data(), request.target().size());
    const std::string_view path = target.substr(0, target.find('?'));
    isCompatible_ = !options_->compatibilityPath.empty() && path == options_->compatibilityPath;
    if (!isCompatible_ && path != options_->path) {
      refuse(notFound());
    } else if (request.method() != http::verb::post) {
      refuse(methodNotAllowed());
    } else if (request.version() == 11 && request.count(http::field::host) != 1) {
      refuse(badRequest("There must be one Host header."));
    } else if (std::ranges::any_of(kOnceOnly, [&](const char* name) { return request.count(name) > 1; })) {
      // Which one counts is a matter of taste, and somebody before us may have another.
      refuse(badRequest("A header that identifies the request occurs twice."));
    } else if (request.count(http::field::transfer_encoding) > 0 && (!parser_->chunked() || request.version() < 11)) {
      // The parser, or somebody before us, would take it to have no body, and the body for the next request.
      refuse(badRequest("The only transfer coding that is understood is chunked, in HTTP/1.1."));
    } else if (const auto coding = request[http::field::content_encoding];
               !coding.empty() && !boost::beast::iequals(coding, "identity")) {
      refuse(codedContent());
    } else if (const auto expect = request[http::field::expect]; expect.empty()) {
      readBody();
    } else if (boost::beast::iequals(expect, "100-continue")) {
      sendContinue();
    } else {
      refuse(expectationFailed());
    }
  }

  void sendContinue() {
    asio::async_write(*stream_, asio::buffer(kContinue),
                      [self = shared_from_this()](const error_code& error, std::size_t) {
                        if (error) {
                          self->close();
                        } else if (self->phase_ == Phase::reading) {
                          self->readBody();
                        }
                      });
  }

  void readBody() {
    parser_->eager(true);
    if (const error_code error = parseBuffered(); error || parser_->is_done()) {
      onBody(error);
      return;
    }
    http::async_read(*stream_, buffer_, *parser_, [self = shared_from_this()](const error_code& error, std::size_t) {
      if (self->phase_ == Phase::reading) {
        self->onBody(error);
      }
    });
  }

  void onBody(const error_code& error) {
    if (error) {
      onReadError(error);
    } else {
      handle();
    }
  }

  void onReadError(const error_code& error) {
    if (error == http::error::body_limit) {
      refuse(bodyTooLarge(options_->sink.bodyBytesMax));
    } else if (error == http::error::header_limit || error == http::error::buffer_overflow) {
      refuse(headersTooLarge(options_->headerBytesMax));
    } else if (isMalformed(error)) {
      refuse(badRequest("This is no HTTP/1.1 request."));
    } else {
      close();
    }
  }

  void handle() {
    phase_ = Phase::handling;
    isIdler_ = false;
    // A handler that never answers must not hold the connection's place for ever.
    setAlarm(options_->requestTimeout);
    keepAlive_ = parser_->keep_alive();
    auto& message = parser_->get();
    InboundRequest request;
    request.contentType = message[http::field::content_type];
    request.webhookId = message["webhook-id"];
    request.webhookTimestamp = message["webhook-timestamp"];
    request.webhookSignature = message["webhook-signature"];
    request.claimedAgent = message["outbox-agent"];
    request.version = message["outbox-version"];
    if (message.count("traceparent") == 1) {
      request.traceparent = message["traceparent"];
    }
    request.certificateAgents = certificateAgents_;
    request.form = isCompatible_ ? InboundForm::agenium : InboundForm::cloudEvents;
    takeEventHeaders(request);
    request.body = std::move(message.body());
    RequestSink::Respond respond = [self = shared_from_this(), number = requestNumber_](InboundResponse response) {
      asio::dispatch(self->stream_->get_executor(), [self, number, response = std::move(response)]() mutable {
        self->onResponse(number, std::move(response));
      });
    };
    try {
      options_->sink.handle(std::move(request), std::move(respond));
    } catch (...) {
      // Whatever it is, it must not reach the executor, which serves all the others.
      refuseOnce();
    }
  }

  void takeEventHeaders(InboundRequest& request) const {
    for (const auto& field : parser_->get()) {
      const std::string_view name(field.name_string().data(), field.name_string().size());
      if (boost::beast::iequals(field.name_string().substr(0, kEventPrefix.size()), kEventPrefix)) {
        std::string attribute(name.substr(kEventPrefix.size()));
        std::ranges::transform(attribute, attribute.begin(), [](char letter) {
          return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
        });
        request.eventHeaders.emplace_back(std::move(attribute), std::string(field.value()));
      }
    }
  }

  // The handler threw; it may have answered before that.
  void refuseOnce() {
    if (phase_ == Phase::handling) {
      refuse(handlerFailed());
    }
  }

  void onResponse(std::uint64_t number, InboundResponse&& response) {
    if (phase_ == Phase::handling && number == requestNumber_) {
      hasSucceeded_ = hasSucceeded_ || response.status < 300;
      write(std::move(response), keepAlive_ && !stopping_);
    }
  }

  void refuse(InboundResponse&& response) { write(std::move(response), false); }

  void write(InboundResponse&& response, bool keepAlive) {
    phase_ = Phase::writing;
    setAlarm(options_->requestTimeout);
    response_ = http::response<http::string_body>(http::int_to_status(static_cast<unsigned>(response.status)), 11);
    response_.result(static_cast<unsigned>(response.status));
    if (!response.contentType.empty()) {
      response_.set(http::field::content_type, response.contentType);
    }
    if (response.retryAfterSeconds) {
      response_.set(http::field::retry_after, std::to_string(*response.retryAfterSeconds));
    }
    for (const auto& [name, value] : response.headers) {
      response_.set(name, value);
    }
    if (response.status == 405) {
      response_.set(http::field::allow, "POST");
    }
    if (parser_->get().method() != http::verb::head) {
      response_.body() = std::move(response.body);
    }
    response_.keep_alive(keepAlive);
    response_.prepare_payload();
    http::async_write(*stream_, response_,
                      [self = shared_from_this(), keepAlive](const error_code& error, std::size_t) {
                        if (self->phase_ != Phase::writing) {
                          return;
                        }
                        if (error) {
                          self->close();
                        } else if (keepAlive) {
                          self->awaitRequest();
                        } else {
                          self->linger();
                        }
                      });
  }

  // Not before the answer is written: who was refused shall know why.
  void becomeIdler() {
    if (!isIdler_ && !hasSucceeded_) {
      isIdler_ = true;
      watcher_.changed();
    }
  }

  void linger() {
    becomeIdler();
    buffer_.clear();
    setAlarm(kLingerTimeout);
    stream_->asyncFinish([self = shared_from_this()] { self->discard(0); });
  }

  void discard(std::size_t discarded) {
    if (phase_ == Phase::closed) {
      return;
    }
    stream_->asyncDiscardSome(*asio::buffer_sequence_begin(buffer_.prepare(kFirstReadBytes)),
                              [self = shared_from_this(), discarded](const error_code& error, std::size_t size) {
                                if (error || discarded + size > kLingerBytesMax) {
                                  self->close();
                                } else {
                                  self->discard(discarded + size);
                                }
                              });
  }

  void setAlarm(std::chrono::milliseconds timeout) {
    alarm_->set(options_->clock->steadyNow() + timeout, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) {
        self->onTimeout();
      }
    });
  }

  void onTimeout() {
    if (phase_ == Phase::handling) {
      refuse(handlerTooSlow());
    } else {
      close();
    }
  }

  void close() {
    if (phase_ == Phase::closed) {
      return;
    }
    phase_ = Phase::closed;
    alarm_->cancel();
    stream_->close();
    std::exchange(watcher_, {}).ended();
  }

  const std::shared_ptr<const HttpSessionOptions> options_;
  // Written on the strand.
  std::atomic<bool> isIdler_ = true;

  // Owned by the strand.
  const std::shared_ptr<Stream> stream_;
  std::vector<std::string> certificateAgents_;
  const std::unique_ptr<Alarm> alarm_;
  HttpSessionWatcher watcher_;
  Phase phase_ = Phase::handshaking;
  bool stopping_ = false;
  // A request of it was answered with a success.
  bool hasSucceeded_ = false;
  bool keepAlive_ = false;
  // The request under way came on the compatibility path.
  bool isCompatible_ = false;
  // Tells a late answer from one to the request under way.
  std::uint64_t requestNumber_ = 0;
  boost::beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  http::response<http::string_body> response_;
};

}  // namespace

std::shared_ptr<HttpSession> makeHttpSession(std::shared_ptr<Stream> stream,
                                             std::shared_ptr<const HttpSessionOptions> options,
                                             HttpSessionWatcher watcher) {
  return std::make_shared<Session>(std::move(stream), std::move(options), std::move(watcher));
}

}  // namespace ackbox::transport
