#include "transport/http_exchange.hpp"

#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <exception>
#include <utility>

#include "transport/connection_budget.hpp"
#include "transport/connection_pool.hpp"
#include "transport/connector.hpp"
#include "transport/message_parser.hpp"
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
           std::shared_ptr<ConnectionPool> pool, std::shared_ptr<ConnectionBudget> budget, HttpPost post,
           HttpHandler handler)
      : executor_(executor),
        options_(std::move(options)),
        pool_(std::move(pool)),
        budget_(std::move(budget)),
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
    if (std::shared_ptr<Stream> idle = pool_->take(place_)) {
      setAlarm();
      reused_ = true;
      converse(std::move(idle));
    } else {
      await();
    }
  }

  void cancel() override { finish(HttpEnd::cancelled, "the sender was stopped"); }

private:
  void setAlarm() {
    alarm_->set(options_->clock->steadyNow() + timeout_, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) {
        HttpAnswer answer;
        answer.end = HttpEnd::unavailable;
        answer.error = self->authority_ + ": no answer within " + std::to_string(self->timeout_.count()) + " ms";
        answer.isAtPeer = self->stream_ != nullptr;
        self->finish(std::move(answer));
      }
    });
  }

  // Waits for its turn to open a connection. That time is not the peer's.
  void await() {
    alarm_->cancel();
    wish_ = budget_->ask(
        place_,
        [weak = weak_from_this()](std::shared_ptr<ConnectionBudget::Slot> slot) {
          if (const auto self = weak.lock(); self && self->handler_) {
            self->connect(std::move(slot));
          }
        },
        [weak = weak_from_this()] {
          if (const auto self = weak.lock(); self && self->handler_) {
            self->evict();
          }
        });
  }

  void connect(std::shared_ptr<ConnectionBudget::Slot> slot) {
    setAlarm();
    if (std::shared_ptr<Stream> idle = pool_->take(place_)) {
      budget_->opened(true);
      reused_ = true;
      converse(std::move(idle));
      return;
    }
    reused_ = false;
    slot_ = std::move(slot);
    connector_ = std::make_shared<Connector>(executor_, options_);
    connector_->start(url_, tls_,
                      [weak = weak_from_this()](std::shared_ptr<Stream> stream, const Connector::Failure& failure) {
                        if (const auto self = weak.lock()) {
                          self->onConnected(std::move(stream), failure);
                        }
                      });
  }

  void onConnected(std::shared_ptr<Stream> stream, const Connector::Failure& failure) {
    const std::shared_ptr<ConnectionBudget::Slot> slot = std::exchange(slot_, nullptr);
    budget_->opened(stream != nullptr);
    if (stream) {
      // The connection's place in the budget is taken for as long as there is the connection, wherever it is kept.
      Stream* const open = stream.get();
      converse({open, [kept = std::move(stream), slot](Stream*) mutable { kept = nullptr; }});
    } else if (failure.isOurs) {
      budget_->shortage();
      finish(HttpEnd::shortage, failure.error);
    } else {
      finish(HttpEnd::unavailable, failure.error);
    }
  }

  // Others wait, and this peer has been silent. It is asked again when it is its turn; should it have read the request,
  // it recognises the repetition.
  void evict() {
    closeConnection();
    await();
  }

  // Reading begins together with writing: a peer that refuses a request early answers before it has read it all, and
  // that answer would be lost behind the broken write. For the same reason a failed write is left to the read to
  // report.
  void converse(std::shared_ptr<Stream> stream) {
    stream_ = std::move(stream);
    written_ = false;
    interimAnswers_ = 0;
    buffer_.clear();
    guard([this] {
      http::async_write(*stream_, request_,
                        [self = shared_from_this(), stream = stream_](const error_code& error, std::size_t) {
                          if (stream == self->stream_) {
                            self->written_ = !error;
                          }
                        });
      read();
    });
  }

  using Parser = MessageParser<false>;

  // Each answer has its parser, so that a stale completion cannot find its parser replaced.
  void read() { parse(std::make_shared<Parser>(options_->headerBytesMax, options_->responseBytesMax)); }

  void parse(const std::shared_ptr<Parser>& parser) {
    error_code error;
    while (buffer_.size() > 0 && !parser->is_done() && !error) {
      buffer_.consume(parser->take(buffer_.data(), error));
    }
    if (error && error != http::error::need_more) {
      onRead(error, *parser);
    } else if (parser->is_done()) {
      onRead({}, *parser);
    } else {
      readMore(parser);
    }
  }

  void readMore(const std::shared_ptr<Parser>& parser) {
    const std::size_t wanted = parser->is_header_done() ? kBodyReadBytes : kFirstReadBytes;
    const std::size_t size = std::min(wanted, buffer_.max_size() - buffer_.size());
    if (size == 0) {
      onRead(http::make_error_code(http::error::buffer_overflow), *parser);
      return;
    }
    stream_->async_read_some(buffer_.prepare(size), [self = shared_from_this(), stream = stream_, parser](
                                                        const error_code& error, std::size_t taken) {
      if (stream == self->stream_) {
        self->guard([&] { self->onBytes(error, taken, parser); });
      }
    });
  }

  void onBytes(const error_code& error, std::size_t size, const std::shared_ptr<Parser>& parser) {
    buffer_.commit(size);
    if (!error) {
      parse(parser);
    } else if (error != boost::asio::error::eof) {
      onRead(error, *parser);
    } else {
      // An answer without a length ends here.
      error_code end = http::make_error_code(http::error::end_of_stream);
      if (parser->got_some()) {
        parser->put_eof(end);
      }
      onRead(end, *parser);
    }
  }

  // Whatever one exchange makes somebody throw is its own end, and must not reach the executor, which serves all the
  // others. What its handler throws is the handler's.
  template <typename Step>
  void guard(const Step& step) {
    try {
      step();
    } catch (const std::exception& thrown) {
      if (!handler_) {
        throw;
      }
      finish(HttpEnd::unavailable, authority_ + ": the exchange could not go on: " + thrown.what());
    }
  }

  void onRead(const error_code& error, Parser& parser) {
    if (error) {
      onReadError(error, parser);
    } else if (parser.status() < 100) {
      // Unlike an interim answer it may have been read up to the end of the stream, behind which there is nothing to
      // wait for.
      finish(HttpEnd::unavailable, authority_ + ": not an acceptable HTTP answer: its status is none");
    } else if (parser.status() < 200) {
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
      HttpAnswer answer;
      answer.error = authority_ + ": not an acceptable HTTP answer: " + error.message();
      answer.isAtPeer = parser.is_header_done();
      finish(std::move(answer));
      return;
    }
    const bool isSilent = !parser.got_some() && buffer_.size() == 0;
    if (reused_ && isSilent) {
      // The peer closed the idle connection while the request was on its way. Should it have read the request all the
      // same, it recognises the repetition.
      closeStream();
      await();
      return;
    }
    if (std::string problem = stream_->certificateProblem(error); !problem.empty()) {
      // Not a loss that a message could have caused.
      finish(HttpEnd::unavailable, authority_ + ": " + problem);
      return;
    }
    finish(HttpEnd::connectionLost, authority_ + ": connection lost before the whole answer: " + error.message());
  }

  void onAnswer(Parser& parser) {
    HttpAnswer answer;
    answer.end = HttpEnd::answered;
    answer.status = parser.status();
    answer.contentType = parser["content-type"];
    answer.retryAfter = parser["retry-after"];
    answer.date = parser["date"];
    answer.signature.id = parser["webhook-id"];
    answer.signature.timestamp = parser["webhook-timestamp"];
    answer.signature.signature = parser["webhook-signature"];
    answer.body = std::move(parser.body());
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
    wish_ = nullptr;
    closeConnection();
    if (answer.end == HttpEnd::answered) {
      budget_->answered(place_);
    } else if (answer.end == HttpEnd::unavailable || answer.end == HttpEnd::connectionLost) {
      budget_->failed(place_);
    }
    std::exchange(handler_, nullptr)(std::move(answer));
  }

  void closeConnection() {
    if (connector_) {
      connector_->cancel();
    }
    if (slot_) {
      budget_->opened(false);
      slot_ = nullptr;
    }
    closeStream();
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
  const std::shared_ptr<ConnectionBudget> budget_;
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
  std::shared_ptr<ConnectionBudget::Wish> wish_;
  // While it connects.
  std::shared_ptr<ConnectionBudget::Slot> slot_;
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
                                               std::shared_ptr<ConnectionPool> pool,
                                               std::shared_ptr<ConnectionBudget> budget, HttpPost post,
                                               HttpHandler handler) {
  return std::make_shared<Exchange>(executor, std::move(options), std::move(pool), std::move(budget), std::move(post),
                                    std::move(handler));
}

}  // namespace ackbox::transport
