#include "transport/http_exchange.hpp"

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <optional>

#include "transport/connection_pool.hpp"
#include "transport/connector.hpp"
#include "transport/tls_context.hpp"

namespace ackbox::transport {
namespace {

namespace http = boost::beast::http;
using boost::system::error_code;

// Interim answers (1xx) before the real one; an honest peer sends none or one.
constexpr int kInterimAnswersMax = 16;

bool isHttpError(const error_code& error) {
  static const boost::system::error_category& category = http::make_error_code(http::error::end_of_stream).category();
  return error.category() == category;
}

// The peer's side of the connection is gone, as opposed to: it sent something that is no answer.
bool isLoss(const error_code& error) {
  return !isHttpError(error) || error == http::error::end_of_stream || error == http::error::partial_message;
}

class Exchange final : public HttpExchange, public std::enable_shared_from_this<Exchange> {
public:
  Exchange(const boost::asio::any_io_executor& executor, std::shared_ptr<const HttpSenderOptions> options,
           std::shared_ptr<ConnectionPool> pool, HttpPost post, HttpHandler handler)
      : executor_(executor),
        options_(std::move(options)),
        pool_(std::move(pool)),
        url_(std::move(post.url)),
        authority_(url_.authority()),
        tls_(std::move(post.tls)),
        place_(tls_ ? "https://" + authority_ + "#" + std::to_string(tls_->generation()) : authority_),
        timeout_(post.timeout),
        alarm_(options_->clock->makeAlarm(executor)),
        handler_(std::move(handler)),
        request_(http::verb::post, url_.target, 11),
        buffer_(options_->headerBytesMax + kReadAheadBytes) {
    request_.set(http::field::host, authority_);
    for (const auto& [name, value] : post.headers) {
      request_.set(name, value);
    }
    request_.body() = std::move(post.body);
    request_.prepare_payload();
  }

  void start() override {
    alarm_->set(options_->clock->steadyNow() + timeout_, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) {
        self->finish(HttpEnd::unavailable,
                     self->authority_ + ": no answer within " + std::to_string(self->timeout_.count()) + " ms");
      }
    });
    if (std::shared_ptr<Stream> idle = pool_->take(place_)) {
      reused_ = true;
      converse(std::move(idle));
    } else {
      connect();
    }
  }

  void cancel() override { finish(HttpEnd::cancelled, "the sender was stopped"); }

private:
  void connect() {
    reused_ = false;
    connector_ = std::make_shared<Connector>(executor_, options_);
    connector_->start(url_, tls_, [weak = weak_from_this()](std::shared_ptr<Stream> stream, const std::string& error) {
      const auto self = weak.lock();
      if (!self) {
        return;
      }
      if (stream) {
        self->converse(std::move(stream));
      } else {
        self->finish(HttpEnd::unavailable, error);
      }
    });
  }

  // Reading begins together with writing: a peer that refuses a request early answers before it has read it all, and
  // that answer would be lost behind the broken write. For the same reason a failed write is left to the read to
  // report.
  void converse(std::shared_ptr<Stream> stream) {
    stream_ = std::move(stream);
    written_ = false;
    interimAnswers_ = 0;
    buffer_.clear();
    http::async_write(*stream_, request_,
                      [self = shared_from_this(), stream = stream_](const error_code& error, std::size_t) {
                        if (stream == self->stream_) {
                          self->written_ = !error;
                        }
                      });
    read();
  }

  void read() {
    // Each reader has its parser, so that a stale completion cannot find its parser replaced.
    const auto parser = std::make_shared<Parser>();
    parser->header_limit(static_cast<std::uint32_t>(options_->headerBytesMax));
    parser->body_limit(options_->responseBytesMax);
    http::async_read(*stream_, buffer_, *parser,
                     [self = shared_from_this(), stream = stream_, parser](const error_code& error, std::size_t) {
                       if (stream == self->stream_) {
                         self->onRead(error, *parser);
                       }
                     });
  }

  using Parser = http::response_parser<http::string_body>;

  void onRead(const error_code& error, Parser& parser) {
    if (error) {
      onReadError(error, parser);
    } else if (parser.get().result_int() < 100) {
      // Unlike an interim answer it may have been read up to the end of the stream, behind which there is nothing to
      // wait for.
      finish(HttpEnd::unavailable, authority_ + ": not an acceptable HTTP answer: its status is none");
    } else if (parser.get().result_int() < 200) {
      // It announces the real one.
      if (++interimAnswers_ > kInterimAnswersMax) {
        finish(HttpEnd::unavailable, authority_ + ": nothing but interim answers");
      } else {
        read();
      }
    } else {
      onAnswer(parser);
    }
  }

  void onReadError(const error_code& error, const Parser& parser) {
    if (!isLoss(error)) {
      finish(HttpEnd::unavailable, authority_ + ": not an acceptable HTTP answer: " + error.message());
      return;
    }
    const bool isSilent = !parser.got_some() && buffer_.size() == 0;
    if (reused_ && isSilent) {
      // The peer closed the idle connection while the request was on its way. Should it have read the request all the
      // same, it recognises the repetition.
      closeStream();
      connect();
      return;
    }
    finish(HttpEnd::connectionLost, authority_ + ": connection lost before the whole answer: " + error.message());
  }

  void onAnswer(Parser& parser) {
    HttpAnswer answer;
    auto& message = parser.get();
    answer.end = HttpEnd::answered;
    answer.status = static_cast<int>(message.result_int());
    answer.contentType = message[http::field::content_type];
    answer.retryAfter = message[http::field::retry_after];
    answer.signature.id = message["webhook-id"];
    answer.signature.timestamp = message["webhook-timestamp"];
    answer.signature.signature = message["webhook-signature"];
    answer.body = std::move(message.body());
    // Bytes beyond the answer would be taken for the next one.
    if (parser.keep_alive() && written_ && buffer_.size() == 0) {
      pool_->give(place_, std::exchange(stream_, nullptr));
    }
    finish(std::move(answer));
  }

  void finish(HttpEnd end, std::string error) {
    HttpAnswer answer;
    answer.end = end;
    answer.error = std::move(error);
    finish(std::move(answer));
  }

  void finish(HttpAnswer answer) {
    if (!handler_) {
      return;
    }
    alarm_->cancel();
    if (connector_) {
      connector_->cancel();
    }
    closeStream();
    std::exchange(handler_, nullptr)(std::move(answer));
  }

  // The completions of its operations become stale.
  void closeStream() {
    if (const std::shared_ptr<Stream> stream = std::exchange(stream_, nullptr)) {
      stream->close();
    }
  }

  const boost::asio::any_io_executor executor_;
  const std::shared_ptr<const HttpSenderOptions> options_;
  const std::shared_ptr<ConnectionPool> pool_;
  const Url url_;
  const std::string authority_;
  const std::shared_ptr<TlsContext> tls_;
  // What a kept connection must have in common with this exchange.
  const std::string place_;
  const std::chrono::milliseconds timeout_;
  const std::unique_ptr<Alarm> alarm_;

  // Null after the end.
  HttpHandler handler_;
  http::request<http::string_body> request_;
  std::shared_ptr<Connector> connector_;
  std::shared_ptr<Stream> stream_;
  bool reused_ = false;
  bool written_ = false;
  int interimAnswers_ = 0;
  boost::beast::flat_buffer buffer_;
};

}  // namespace

std::shared_ptr<HttpExchange> makeHttpExchange(const boost::asio::any_io_executor& executor,
                                               std::shared_ptr<const HttpSenderOptions> options,
                                               std::shared_ptr<ConnectionPool> pool, HttpPost post,
                                               HttpHandler handler) {
  return std::make_shared<Exchange>(executor, std::move(options), std::move(pool), std::move(post), std::move(handler));
}

}  // namespace ackbox::transport
