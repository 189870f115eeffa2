#pragma once

// The state of a session, and its members in groups: http_session.cpp (the connection from handshake to end, and the
// bytes that it holds), http_session_reading.cpp (a request, until its handler receives it), http_session_answering.cpp
// (an answer in one piece), http_session_streaming.cpp (an answer that goes on). head_refusal.hpp says which requests
// are refused by their heads.

#include <atomic>
#include <boost/asio/post.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "transport/http_session.hpp"
#include "transport/message_parser.hpp"
#include "transport/stream.hpp"

namespace ackbox::transport {

class HttpSessionBody final : public HttpSession,
                              private AnswerStream,
                              public std::enable_shared_from_this<HttpSessionBody> {
public:
  HttpSessionBody(std::shared_ptr<Stream> stream, std::shared_ptr<const HttpSessionOptions> options,
                  HttpSessionWatcher watcher);
  ~HttpSessionBody() override;
  HttpSessionBody(const HttpSessionBody&) = delete;
  HttpSessionBody& operator=(const HttpSessionBody&) = delete;

  void start() override;
  void stop() override;
  [[nodiscard]] bool isIdler() const noexcept override { return isIdler_; }
  [[nodiscard]] bool isAtRest() const noexcept override { return isAtRest_; }
  void evict() override;
  [[nodiscard]] std::size_t bytesHeld() const noexcept override { return held_; }

private:
  using Parser = MessageParser<true>;

  // How long a refused request is read and thrown away: closing a socket with unread bytes causes a reset, which would
  // lose the refusal.
  static constexpr std::chrono::milliseconds kLingerTimeout{1000};

  enum class Phase : std::uint8_t {
    /// Before the first request. Without TLS it ends at once.
    handshaking,
    /// No byte of the next request has come.
    idle,
    reading,
    handling,
    /// Writing the answer, or what follows the last one.
    writing,
    /// Writing an answer that goes on, and reading to notice the client's end.
    streaming,
    closed,
  };

  // An exception must not reach the executor, which serves all other connections.
  template <typename Step>
  void guard(const Step& step) noexcept {
    try {
      step();
    } catch (...) {
      ++options_->totals->broken;
      try {
        close();
      } catch (...) {
        // Nothing more can be done.
      }
    }
  }

  template <typename Step>
  void post(Step step) {
    boost::asio::post(stream_->get_executor(),
                      [self = shared_from_this(), step = std::move(step)] { self->guard(step); });
  }

  /// `step` as the completion of an operation, guarded.
  template <typename Step>
  auto guarded(Step step) {
    return [self = shared_from_this(), step = std::move(step)](const auto&... results) {
      self->guard([&] { step(results...); });
    };
  }

  // --- http_session.cpp: the connection.
  void shakeHands();
  void awaitRequest();
  // An idle connection keeps no data of its last exchange.
  void forget();
  void rest();
  void becomeIdler();
  /// Whether the bytes that it holds now are within the budget, or a session was asked to give up its bytes.
  bool hasRoom();
  // The buffer that every connection may have is not counted.
  [[nodiscard]] std::size_t bufferBytes() const;
  void hold(std::size_t bytes);
  void setAlarm(std::chrono::milliseconds timeout);
  void onTimeout();
  void close();

  // --- http_session_reading.cpp: a request, until its handler receives it.
  void begin();
  void readHeader();
  void readBody();
  // Parses the bytes that have come.
  boost::system::error_code parse();
  void readMore(std::size_t wanted);
  void onHeader();
  // Before the body: trailers change nothing.
  void takeHead();
  void takeEventHeaders();
  void admitHead(bool isAskedBefore);
  void admitBody(bool isAskedBefore);
  void sendContinue();
  void onReadError(const boost::system::error_code& error);
  void handleWithoutBody();
  void handle();
  void awaitEnd();
  void lookForEnd();
  void refuseOnce();

  // --- http_session_answering.cpp: its answer.
  void onResponse(std::uint64_t number, InboundResponse&& response);
  /// `mayGoOn`: the next bytes on the connection are the next request.
  void answer(InboundResponse&& response, bool mayGoOn);
  void refuse(InboundResponse&& response);
  void write(InboundResponse&& response, bool keepAlive);
  void writeMore();
  void linger();
  void discard(std::size_t discarded);

  // --- http_session_streaming.cpp: an answer that goes on; its producer calls the first five.
  void open(InboundResponse head, AnswerWatcher watcher) override;
  void send(std::string_view bytes) override;
  [[nodiscard]] std::size_t unread() const noexcept override;
  void finish() override;
  void cut() override;
  void forgetRequest();
  void watchClient(std::size_t discarded);
  void flush();
  void flushMore(bool isLast);
  void flushed(bool isLast);
  /// `isOurs`: the producer does not know of the end yet.
  void finishStream(bool isOurs);

  const std::shared_ptr<const HttpSessionOptions> options_;
  // Written on the strand.
  std::atomic<bool> isIdler_ = true;
  std::atomic<bool> isAtRest_ = false;
  std::atomic<std::size_t> held_ = 0;

  // Owned by the strand.
  const std::shared_ptr<Stream> stream_;
  const SteadyTime bornAt_;
  std::vector<std::string> certificateAgents_;
  std::optional<WallTime> certificateEnd_;
  const std::unique_ptr<Alarm> alarm_;
  HttpSessionWatcher watcher_;
  Phase phase_ = Phase::handshaking;
  bool stopping_ = false;
  // Whether one of its requests has proved an identity.
  bool isKnown_ = false;
  int refusals_ = 0;
  // For the request under way.
  bool keepAlive_ = false;
  bool isHead_ = false;
  std::size_t worthReading_ = 0;
  // Distinguishes a late answer from one to the request under way.
  std::uint64_t requestNumber_ = 0;
  boost::beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  InboundRequest request_;
  // The watch of the request that is being handled, and the end of the time for its handling.
  std::shared_ptr<ClientWatch> client_;
  SteadyTime handledUntil_;
  // The stream reports when there is something to read, also after the request for which this was asked.
  bool isAwaitingInput_ = false;
  // The handlers of a request that was admitted by its head.
  std::function<void(std::string, Admission::Respond)> admitted_;
  std::function<void(std::shared_ptr<AnswerStream>, Admission::Respond)> streamed_;
  // The answer, and how much of it the connection has taken.
  std::string answerHead_;
  std::string answerBody_;
  bool answerKeepsAlive_ = false;
  std::size_t written_ = 0;
  SteadyTime writeUntil_;
  // For an answer that goes on: the bytes to write after the current piece, and the producer.
  std::string unwritten_;
  AnswerWatcher producer_;
  bool isChunked_ = false;
  bool isFlushing_ = false;
  bool isEnding_ = false;
};

}  // namespace ackbox::transport
