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

#include "transport/answer_head.hpp"
#include "transport/connection_budget.hpp"
#include "transport/connection_pool.hpp"
#include "transport/connector.hpp"
#include "transport/message_parser.hpp"
#include "transport/networks.hpp"
#include "transport/tls_context.hpp"

namespace ackbox::transport {
namespace {

namespace http = boost::beast::http;
using boost::system::error_code;

// Interim answers (1xx) before the real one; an honest peer sends none or one.
constexpr int kInterimAnswersMax = 16;
// How long to read the rest of an answer when its status is enough.
constexpr std::chrono::milliseconds kRestTime{1'000};
constexpr int kFinalStatusLeast = 200;

bool isHttpError(const error_code& error) {
  static const boost::system::error_category& category = http::make_error_code(http::error::end_of_stream).category();
  return error.category() == category;
}

// Whether the peer's side of the connection is gone, as opposed to an answer that is not HTTP.
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
        networks_(std::move(post.networks)),
        place_((tls_ ? "https://" + authority_ + "#" + std::to_string(tls_->generation()) : authority_) +
               (networks_ ? " in " + networks_->text() : std::string())),
        timeout_(post.timeout),
        isStatusEnough_(post.isStatusEnough),
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
    if (ConnectionPool::Connection idle = pool_->take(place_); idle.stream) {
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
    deadline_ = options_->clock->steadyNow() + timeout_;
    setAlarmAt(deadline_);
  }

  void setAlarmAt(SteadyTime deadline) {
    alarm_->set(deadline, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) {
        HttpAnswer answer;
        answer.end = HttpEnd::unavailable;
        answer.error = self->authority_ + ": no answer within " + std::to_string(self->timeout_.count()) + " ms";
        answer.isAtPeer = self->stream_ != nullptr;
        self->finish(std::move(answer));
      }
    });
  }

  // Waits for a turn to open a connection. The waiting is not charged to the peer's timeout.
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
    if (ConnectionPool::Connection idle = pool_->take(place_); idle.stream) {
      budget_->opened(true);
      reused_ = true;
      converse(std::move(idle));
      return;
    }
    reused_ = false;
    slot_ = std::move(slot);
    connector_ = std::make_shared<Connector>(executor_, options_);
    connector_->start(url_, tls_, networks_,
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
      // The connection keeps its slot in the budget for as long as it exists, in this exchange or in the pool.
      Stream* const open = stream.get();
      converse({.stream = {open, [kept = std::move(stream), slot](Stream*) mutable { kept = nullptr; }},
                .bornAt = options_->clock->steadyNow()});
    } else if (failure.isOurs) {
      budget_->shortage();
      finish(HttpEnd::shortage, failure.error);
    } else {
      finish(HttpEnd::unavailable, failure.error);
    }
  }

  // Others wait, and this peer has been silent. The request is sent again at its next turn; if the peer had read it
  // already, the peer recognises the repetition.
  void evict() {
    if (isSettled()) {
      finish(HttpEnd::connectionLost, authority_ + ": the connection gave way to another peer's");
      return;
    }
    closeConnection();
    await();
  }

  // Reading begins together with writing: a peer that refuses a request early answers before it has read all of it, and
  // a broken write would lose that answer. For the same reason the read, not the write, reports a failed write.
  void converse(ConnectionPool::Connection connection) {
    stream_ = std::move(connection.stream);
    bornAt_ = connection.bornAt;
    written_ = false;
    interimAnswers_ = 0;
    isMended_ = false;
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

  // Each answer has its own parser, so that a stale completion does not find its parser replaced.
  void read() {
    parser_ = std::make_shared<Parser>(options_->headerBytesMax, options_->responseBytesMax);
    parse(parser_);
  }

  void parse(const std::shared_ptr<Parser>& parser) {
    error_code error;
    if (!parser->is_header_done()) {
      takeHead(*parser, error);
    }
    while (parser->is_header_done() && buffer_.size() > 0 && !parser->is_done() && !error) {
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

  // Takes the head when it is whole. The status counts earlier.
  void takeHead(Parser& parser, error_code& error) {
    const auto bytes = buffer_.data();
    const AnswerHead head = readAnswerHead({static_cast<const char*>(bytes.data()), bytes.size()});
    if (isStatusEnough_ && status_ == 0 && head.status >= kFinalStatusLeast) {
      status_ = head.status;
      setAlarmAt(std::min(deadline_, options_->clock->steadyNow() + kRestTime));
    }
    if (head.bytes == 0) {
      if (bytes.size() > options_->headerBytesMax) {
        error = http::make_error_code(http::error::header_limit);
      }
      return;
    }
    isMended_ = isMended_ || !head.mended.empty();
    const boost::asio::const_buffer asCame(bytes.data(), head.bytes);
    parser.take(head.mended.empty() ? asCame : boost::asio::buffer(head.mended), error);
    buffer_.consume(head.bytes);
    if (!parser.is_header_done() && (!error || error == http::error::need_more)) {
      error = http::make_error_code(http::error::bad_line_ending);
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
      error_code end =
          http::make_error_code(buffer_.size() == 0 ? http::error::end_of_stream : http::error::partial_message);
      if (parser->got_some()) {
        parser->put_eof(end);
      }
      onRead(end, *parser);
    }
  }

  // An exception ends this exchange only: it must not reach the executor, which serves all others. An exception of the
  // exchange's handler is passed on.
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
      // Unlike an interim answer, it may have been read up to the end of the stream, after which nothing comes.
      finishUnreadable("not an acceptable HTTP answer: its status is out of range", false);
    } else if (parser.status() < kFinalStatusLeast) {
      // The final answer follows an interim one.
      if (++interimAnswers_ > kInterimAnswersMax) {
        finishUnreadable("nothing but interim answers", false);
      } else {
        read();
      }
    } else {
      onAnswer(parser);
    }
  }

  void onReadError(const error_code& error, const Parser& parser) {
    if (!isLoss(error)) {
      finishUnreadable("not an acceptable HTTP answer: " + error.message(), parser.is_header_done());
      return;
    }
    const bool isSilent = !parser.got_some() && buffer_.size() == 0;
    if (reused_ && isSilent) {
      // The peer closed the idle connection while the request was on its way. If the peer had read the request
      // nevertheless, it recognises the repetition.
      closeStream();
      await();
      return;
    }
    if (std::string problem = stream_->certificateProblem(error); !problem.empty()) {
      // The message cannot have caused this loss.
      finish(HttpEnd::unavailable, authority_ + ": " + problem);
      return;
    }
    finish(HttpEnd::connectionLost, authority_ + ": connection lost before the whole answer: " + error.message());
  }

  void onAnswer(Parser& parser) {
    if (parser.keep_alive() && written_ && endsBeyondDoubt(parser)) {
      pool_->give(place_, {.stream = std::exchange(stream_, nullptr), .bornAt = bornAt_});
    }
    finish(answered(parser.status()));
  }

  // Extra bytes would be taken for the next answer, and so would a body that a status without one announces. A server
  // that writes odd heads may also be wrong about the end of an answer.
  [[nodiscard]] bool endsBeyondDoubt(const Parser& parser) const {
    const bool isInChunks = parser.count("transfer-encoding") > 0;
    const std::size_t lengths = parser.count("content-length");
    const bool hasNoBody = parser.status() == 204 || parser.status() == 304;
    const bool isOddLength = lengths > 1 || parser["content-length"].find(',') != std::string_view::npos;
    const bool isOddCoding = isInChunks && parser.version() == 10;
    return buffer_.size() == 0 && !isMended_ && !isOddLength && !isOddCoding &&
           !(hasNoBody &&
             (isInChunks || (lengths > 0 && !(parser.status() == 204 && parser["content-length"] == "0"))));
  }

  // The answer with this status, and as much of its body as was read.
  HttpAnswer answered(int status) {
    HttpAnswer answer;
    answer.end = HttpEnd::answered;
    answer.status = status;
    const Parser& parser = *parser_;
    answer.contentType = parser["content-type"];
    answer.retryAfter = parser["retry-after"];
    answer.date = parser["date"];
    answer.signature.id = parser["webhook-id"];
    answer.signature.timestamp = parser["webhook-timestamp"];
    answer.signature.signature = parser["webhook-signature"];
    answer.body = std::move(parser_->body());
    return answer;
  }

  // Whether the status alone settles the request, and has been read.
  [[nodiscard]] bool isSettled() const noexcept { return status_ != 0; }

  void finishUnreadable(const std::string& error, bool isAtPeer) {
    HttpAnswer answer;
    answer.error = authority_ + ": " + error;
    answer.isAtPeer = isAtPeer;
    answer.isUnreadable = true;
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
    if (answer.end != HttpEnd::answered && isSettled()) {
      answer = answered(status_);
    }
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

  // Makes the completions of its operations stale.
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
  const std::shared_ptr<const Networks> networks_;
  // A kept connection is reused only for an exchange with the same place.
  const std::string place_;
  const std::chrono::milliseconds timeout_;
  const bool isStatusEnough_;
  const std::unique_ptr<Alarm> alarm_;

  // Null after the end of the exchange.
  HttpHandler handler_;
  http::request<http::string_body> request_;
  std::shared_ptr<ConnectionBudget::Wish> wish_;
  // Set while it connects.
  std::shared_ptr<ConnectionBudget::Slot> slot_;
  std::shared_ptr<Connector> connector_;
  std::shared_ptr<Stream> stream_;
  SteadyTime bornAt_{};
  SteadyTime deadline_{};
  // The parser of the answer that is being read.
  std::shared_ptr<Parser> parser_;
  // The status of the final answer, where it is enough; 0 until its status line is read.
  int status_ = 0;
  bool isMended_ = false;
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
