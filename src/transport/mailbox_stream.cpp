#include "transport/mailbox_stream.hpp"

#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/error.hpp>
#include <exception>
#include <limits>
#include <utility>

#include "protocol/answer_text.hpp"
#include "protocol/media_type.hpp"
#include "transport/tls_context.hpp"

namespace ackbox::transport {

namespace http = boost::beast::http;
using boost::system::error_code;

namespace {

constexpr int kStreamStatus = 200;
constexpr std::string_view kStreamType = "application/x-ndjson";
constexpr std::size_t kTypeShownBytes = 100;
// A hub sends one empty line in five seconds; so many within the time of `Wish::silence` are no hub's.
constexpr std::size_t kEmptyLinesMost = 1'000;
// As much of a refusal as can hold its text.
constexpr std::size_t kRefusalBytesMax = 4096;

bool mayGoOn(const error_code& error) {
  return !error || error == http::error::need_more;
}

}  // namespace

MailboxStream::MailboxStream(const boost::asio::any_io_executor& executor,
                             std::shared_ptr<const HttpSenderOptions> options, Wish wish, Events events)
    : executor_(executor),
      options_(std::move(options)),
      wish_(std::move(wish)),
      authority_(wish_.url.authority()),
      alarm_(options_->clock->makeAlarm(executor)),
      events_(std::make_shared<const Events>(std::move(events))),
      request_("GET " + wish_.url.target + " HTTP/1.1\r\nHost: " + authority_ + "\r\n" + wish_.headers + "\r\n"),
      // The stream's body has no limit as a whole; its lines have one.
      parser_(std::make_unique<Parser>(options_->headerBytesMax, std::numeric_limits<std::uint64_t>::max())),
      buffer_(options_->headerBytesMax + kReadAheadBytes) {}

// An exception ends this stream only: it must not reach the executor, which serves others.
template <typename Step>
void MailboxStream::guard(const Step& step) {
  if (isEnded_) {
    return;
  }
  try {
    step();
  } catch (const std::exception& thrown) {
    end({.status = 0, .what = authority_ + ": the stream could not go on: " + thrown.what()});
  }
}

void MailboxStream::start() {
  connector_ = std::make_shared<Connector>(executor_, options_);
  connector_->start(wish_.url, wish_.tls, nullptr,
                    [weak = weak_from_this()](std::shared_ptr<Stream> stream, const Connector::Failure& failure) {
                      if (const auto self = weak.lock()) {
                        self->guard([&] { self->onConnected(std::move(stream), failure.error); });
                      }
                    });
}

void MailboxStream::cancel() {
  isEnded_ = true;
  events_ = nullptr;
  alarm_->cancel();
  if (connector_) {
    connector_->cancel();
  }
  if (stream_) {
    stream_->close();
  }
}

void MailboxStream::onConnected(std::shared_ptr<Stream> stream, const std::string& failure) {
  if (!stream) {
    end({.status = 0, .what = failure});
    return;
  }
  stream_ = std::move(stream);
  watch();
  boost::asio::async_write(*stream_, boost::asio::buffer(request_),
                           [self = shared_from_this()](const error_code& error, std::size_t) {
                             if (error) {
                               self->end({.status = 0, .what = self->authority_ + ": " + error.message()});
                             }
                           });
  read();
}

void MailboxStream::watch() {
  alarm_->set(options_->clock->steadyNow() + wish_.silence, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) {
      self->end({.status = 0,
                 .what = self->authority_ + (self->isOpen_ ? ": no byte within " : ": no whole answer within ") +
                         std::to_string(std::chrono::duration_cast<std::chrono::seconds>(self->wish_.silence).count()) +
                         " s"});
    }
  });
}

void MailboxStream::read() {
  const std::size_t size = std::min(kBodyReadBytes, buffer_.max_size() - buffer_.size());
  if (size == 0) {
    end({.status = 0, .what = authority_ + ": not an acceptable HTTP answer: a line of it is too long"});
    return;
  }
  stream_->async_read_some(buffer_.prepare(size),
                           [self = shared_from_this()](const error_code& error, std::size_t taken) {
                             self->guard([&] { self->onBytes(error, taken); });
                           });
}

void MailboxStream::onBytes(const error_code& error, std::size_t size) {
  buffer_.commit(size);
  if (error) {
    std::string problem = stream_->certificateProblem(error);
    if (parser_->is_header_done() && !isOpen_) {
      refuse();
      return;
    }
    end({.status = 0,
         .what = authority_ + (problem.empty() ? ": the connection was lost: " + error.message() : ": " + problem)});
    return;
  }
  // Each byte keeps a stream alive, but no answer that is not complete.
  if (isOpen_) {
    watch();
  }
  parse();
}

void MailboxStream::parse() {
  error_code error;
  while (buffer_.size() > 0 && mayGoOn(error) && !parser_->is_done() && !isEnded_) {
    const bool wasInHead = !parser_->is_header_done();
    const std::size_t taken = parser_->take(buffer_.data(), error);
    buffer_.consume(taken);
    if (wasInHead && parser_->is_header_done() && mayGoOn(error)) {
      onHead();
    }
    takeBody();
    if (taken == 0) {
      break;
    }
  }
  if (isEnded_) {
    return;
  }
  if (!mayGoOn(error)) {
    end({.status = 0, .what = authority_ + ": not an acceptable HTTP answer: " + error.message()});
  } else if (parser_->is_done() || refusal_.size() >= kRefusalBytesMax) {
    refuse();
  } else {
    read();
  }
}

void MailboxStream::onHead() {
  // Any web page is answered with 200.
  const std::string_view type = (*parser_)["content-type"];
  if (parser_->status() == kStreamStatus && !protocol::isMediaType(type, kStreamType)) {
    end({.status = 0,
         .what = authority_ + ": HTTP 200 with content of type '" + std::string(type.substr(0, kTypeShownBytes)) +
                 "', which is no stream of frames: give the address of the hub's API"});
    return;
  }
  isOpen_ = parser_->status() == kStreamStatus;
  if (isOpen_) {
    watch();
  }
  // The callbacks may cancel.
  if (const std::shared_ptr<const Events> events = events_; isOpen_ && events) {
    events->onOpen();
  }
}

void MailboxStream::takeBody() {
  if (isEnded_ || parser_->body().empty()) {
    return;
  }
  const std::string bytes = std::exchange(parser_->body(), {});
  if (isOpen_) {
    takeLines(bytes);
  } else if (refusal_.size() < kRefusalBytesMax) {
    refusal_.append(bytes, 0, kRefusalBytesMax - refusal_.size());
  }
}

void MailboxStream::takeLines(std::string_view bytes) {
  while (!bytes.empty() && !isEnded_) {
    const std::size_t length = std::min(bytes.find('\n'), bytes.size());
    if (line_.size() + length > wish_.lineBytesMax) {
      end({.status = 0,
           .what = authority_ + ": a line of the stream has more than " + std::to_string(wish_.lineBytesMax) +
                   " bytes: raise InboundOptions::bodyBytesMax, or lower the hub's limit"});
      return;
    }
    line_.append(bytes.substr(0, length));
    if (length == bytes.size()) {
      return;
    }
    bytes.remove_prefix(length + 1);
    const std::string line = std::exchange(line_, {});
    if (line.empty() && !mayBeEmpty()) {
      end({.status = 0, .what = authority_ + ": the stream has nothing but empty lines, one upon the other"});
      return;
    }
    if (const std::shared_ptr<const Events> events = events_; events && !line.empty()) {
      events->onLine(line);
    }
  }
}

bool MailboxStream::mayBeEmpty() {
  const SteadyTime now = options_->clock->steadyNow();
  if (now - emptySince_ >= wish_.silence) {
    emptySince_ = now;
    emptyLines_ = 0;
  }
  return ++emptyLines_ <= kEmptyLinesMost;
}

void MailboxStream::refuse() {
  if (isOpen_) {
    end({.status = 0, .what = authority_ + ": the hub ended the stream"});
    return;
  }
  const int status = parser_->status();
  const std::string said = protocol::textOfAnswer((*parser_)["content-type"], refusal_);
  end({.status = status,
       .what = authority_ + ": HTTP " + std::to_string(status) + (said.empty() ? std::string() : ": " + said)});
}

void MailboxStream::end(MailboxEnd end) {
  if (isEnded_) {
    return;
  }
  const std::shared_ptr<const Events> events = events_;
  cancel();
  if (events) {
    events->onEnd(std::move(end));
  }
}

}  // namespace ackbox::transport
