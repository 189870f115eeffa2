#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/verb.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "transport/head_refusal.hpp"
#include "transport/http_session_body.hpp"
#include "transport/refusal.hpp"
#include "transport/request_budget.hpp"

namespace ackbox::transport {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;

constexpr std::string_view kEventPrefix = "ce-";
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
// How often to check whether a waiting client that has sent more than its request has closed the connection.
constexpr std::chrono::milliseconds kEndLook{1000};

bool isMalformed(const error_code& error) {
  static const boost::system::error_category& category = http::make_error_code(http::error::end_of_stream).category();
  return error.category() == category && error != http::error::end_of_stream && error != http::error::partial_message;
}

class ParsedHead final : public RequestHead {
public:
  ParsedHead(const MessageParser<true>& parser, const std::vector<std::string>& certificateAgents, Stream& stream)
      : parser_(parser), certificateAgents_(certificateAgents), stream_(stream) {}

  [[nodiscard]] std::string_view method() const override {
    const http::verb verb = parser_.method();
    const auto name = http::to_string(verb);
    return verb == http::verb::unknown ? std::string_view() : std::string_view(name.data(), name.size());
  }
  [[nodiscard]] std::string_view target() const override { return parser_.target(); }
  [[nodiscard]] std::string_view header(std::string_view name) const override { return parser_[name]; }
  [[nodiscard]] std::size_t count(std::string_view name) const override { return parser_.count(name); }
  [[nodiscard]] const std::vector<std::string>& certificateAgents() const override { return certificateAgents_; }
  [[nodiscard]] std::string peerAddress() const override { return stream_.peerAddress(); }

private:
  const MessageParser<true>& parser_;
  const std::vector<std::string>& certificateAgents_;
  Stream& stream_;
};

}  // namespace

void HttpSessionBody::begin() {
  phase_ = Phase::reading;
  isAtRest_ = false;
  ++requestNumber_;
  parser_.emplace(options_->headerBytesMax, options_->sink.bodyBytesMax);
  setAlarm(options_->requestTimeout);
  readHeader();
}

void HttpSessionBody::readHeader() {
  if (const error_code error = parse(); error) {
    onReadError(error);
  } else if (parser_->is_header_done()) {
    onHeader();
  } else {
    readMore(kFirstReadBytes);
  }
}

void HttpSessionBody::readBody() {
  if (const error_code error = parse(); error) {
    onReadError(error);
  } else if (parser_->is_done()) {
    handle();
  } else {
    const auto left = parser_->content_length_remaining();
    readMore(left ? static_cast<std::size_t>(std::clamp<std::uint64_t>(*left, kFirstReadBytes, kBodyReadBytes))
                  : kBodyReadBytes);
  }
}

error_code HttpSessionBody::parse() {
  error_code error;
  if (buffer_.size() > 0 && !parser_->is_done()) {
    buffer_.consume(parser_->take(buffer_.data(), error));
  }
  return error == http::error::need_more ? error_code() : error;
}

void HttpSessionBody::readMore(std::size_t wanted) {
  const std::size_t size = std::min(wanted, buffer_.max_size() - buffer_.size());
  if (size == 0) {
    onReadError(http::make_error_code(http::error::buffer_overflow));
    return;
  }
  const asio::mutable_buffer space = buffer_.prepare(size);
  if (!hasRoom()) {
    refuse(noRoom());
    return;
  }
  stream_->async_read_some(space, guarded([this](const error_code& error, std::size_t read) {
                             if (phase_ != Phase::reading) {
                               return;
                             }
                             if (error) {
                               // The peer ended the connection in the middle of a request: an answer would not arrive.
                               close();
                               return;
                             }
                             buffer_.commit(read);
                             if (parser_->is_header_done()) {
                               readBody();
                             } else {
                               readHeader();
                             }
                           }));
}

void HttpSessionBody::onHeader() {
  // HTTP/1.0 connections are never kept, whatever the client asks for.
  keepAlive_ = parser_->keep_alive() && parser_->version() >= 11;
  isHead_ = parser_->method() == http::verb::head;
  if (certificateEnd_ && options_->clock->wallNow() >= *certificateEnd_) {
    // The certificate verifies nothing any more; the handshake of a new connection reports that.
    close();
  } else if (std::optional<InboundResponse> refusal = refusalOf(*parser_, *options_)) {
    refuse(std::move(*refusal));
  } else {
    const bool isAskedBefore = !(*parser_)["expect"].empty();
    if (options_->sink.admit) {
      admitHead(isAskedBefore);
    } else {
      takeHead();
      admitBody(isAskedBefore);
    }
  }
}

void HttpSessionBody::takeHead() {
  const Parser& parsed = *parser_;
  request_ = {};
  request_.contentType = parsed["content-type"];
  request_.webhookId = parsed["webhook-id"];
  request_.webhookTimestamp = parsed["webhook-timestamp"];
  request_.webhookSignature = parsed["webhook-signature"];
  request_.claimedAgent = parsed["outbox-agent"];
  request_.version = parsed["outbox-version"];
  if (parsed.count("traceparent") == 1) {
    request_.traceparent = parsed["traceparent"];
  }
  request_.fromBrowser = parsed.count("origin") > 0 || parsed.count("sec-fetch-site") > 0;
  request_.onLoopback = options_->onLoopback;
  request_.host = parsed["host"];
  request_.certificateAgents = certificateAgents_;
  request_.target = parsed.target();
  takeEventHeaders();
}

void HttpSessionBody::takeEventHeaders() {
  for (std::size_t index = 0; index < parser_->fields(); ++index) {
    const auto [name, value] = parser_->field(index);
    if (boost::beast::iequals(name.substr(0, kEventPrefix.size()), kEventPrefix)) {
      std::string attribute(name.substr(kEventPrefix.size()));
      std::ranges::transform(attribute, attribute.begin(), [](char letter) {
        return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
      });
      request_.eventHeaders.emplace_back(std::move(attribute), std::string(value));
    }
  }
}

void HttpSessionBody::admitHead(bool isAskedBefore) {
  Admission admission = options_->sink.admit(ParsedHead(*parser_, certificateAgents_, *stream_));
  if (admission.refusal) {
    // If nothing follows the head, the next bytes on the connection are the next request.
    ++options_->totals->refused;
    const bool isWhole = parser_->is_done() || parser_->content_length_remaining().value_or(1) == 0;
    answer(std::move(*admission.refusal), isWhole);
    return;
  }
  admitted_ = std::move(admission.handle);
  client_ = std::move(admission.client);
  streamed_ = std::move(admission.stream);
  worthReading_ = admission.bodyBytesMax;
  parser_->body_limit(worthReading_);
  if (const auto announced = parser_->content_length(); announced && *announced > worthReading_) {
    refuse(bodyTooLarge(worthReading_));
  } else if (isAskedBefore && !parser_->is_done()) {
    sendContinue();
  } else {
    readBody();
  }
}

void HttpSessionBody::admitBody(bool isAskedBefore) {
  worthReading_ = options_->sink.bodyBytesMax;
  if (options_->sink.worthReading) {
    worthReading_ = std::min(worthReading_, options_->sink.worthReading(request_));
    parser_->body_limit(worthReading_);
  }
  const auto announced = parser_->content_length();
  if (announced && *announced > worthReading_) {
    handleWithoutBody();
  } else if (isAskedBefore && !parser_->is_done()) {
    sendContinue();
  } else {
    readBody();
  }
}

void HttpSessionBody::sendContinue() {
  asio::async_write(*stream_, asio::buffer(kContinue), guarded([this](const error_code& error, std::size_t) {
    if (phase_ != Phase::reading) {
      return;
    }
    if (error) {
      close();
    } else {
      readBody();
    }
  }));
}

void HttpSessionBody::onReadError(const error_code& error) {
  if (error == http::error::body_limit) {
    if (admitted_ || streamed_) {
      refuse(bodyTooLarge(worthReading_));
    } else if (parser_->is_header_done() && worthReading_ < options_->sink.bodyBytesMax) {
      handleWithoutBody();
    } else {
      refuse(bodyTooLarge(options_->sink.bodyBytesMax));
    }
  } else if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    refuse(headersTooLarge(options_->headerBytesMax));
  } else if (isMalformed(error)) {
    refuse(badRequest("This is no HTTP/1.1 request."));
  } else {
    close();
  }
}

// Such a request proves nothing, so its answer does not depend on its body.
void HttpSessionBody::handleWithoutBody() {
  keepAlive_ = false;
  parser_->body() = {};
  handle();
}

void HttpSessionBody::handle() {
  phase_ = Phase::handling;
  isIdler_ = false;
  // A handler that never answers must not occupy the connection for ever.
  handledUntil_ = options_->clock->steadyNow() + options_->requestTimeout;
  setAlarm(options_->requestTimeout);
  request_.body = std::move(parser_->body());
  // The handler may keep the body for longer than the connection lives.
  std::shared_ptr<const BudgetShare> share;
  if (request_.body.size() > kFirstReadBytes) {
    share = std::make_shared<const BudgetShare>(options_->budget, request_.body.capacity());
  }
  hold(bufferBytes());
  RequestSink::Respond respond = [self = shared_from_this(), number = requestNumber_,
                                  share = std::move(share)](InboundResponse response) {
    asio::dispatch(self->stream_->get_executor(), [self, number, response = std::move(response)]() mutable {
      self->guard([&] { self->onResponse(number, std::move(response)); });
    });
  };
  try {
    if (streamed_) {
      const std::shared_ptr<HttpSessionBody> self = shared_from_this();
      std::exchange(streamed_, {})(std::shared_ptr<AnswerStream>(self, this), std::move(respond));
    } else if (admitted_) {
      std::exchange(admitted_, {})(std::move(request_.body), std::move(respond));
      awaitEnd();
    } else {
      options_->sink.handle(std::move(request_), std::move(respond));
    }
  } catch (...) {
    // No exception may reach the executor, which serves all other connections.
    refuseOnce();
  }
}

// The connection of a client that has gone is closed, not kept. Nothing is read: that would be the next request.
void HttpSessionBody::awaitEnd() {
  if (client_ && client_->gone && !isAwaitingInput_) {
    isAwaitingInput_ = true;
    stream_->asyncAwaitInput(guarded([this] {
      isAwaitingInput_ = false;
      lookForEnd();
    }));
  }
}

void HttpSessionBody::lookForEnd() {
  if (phase_ != Phase::handling || !client_ || !client_->gone) {
    return;
  }
  if (stream_->hasEnded()) {
    close();
    return;
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(handledUntil_ - options_->clock->steadyNow());
  setAlarm(std::min(kEndLook, left));
}

// The handler threw, possibly after it had answered.
void HttpSessionBody::refuseOnce() {
  if (phase_ == Phase::handling) {
    refuse(handlerFailed());
  } else if (phase_ == Phase::streaming) {
    close();
  }
}

}  // namespace ackbox::transport
