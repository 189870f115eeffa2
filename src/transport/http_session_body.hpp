#pragma once

// A session's state, and its members in families: http_session.cpp (the connection from its handshake to its end, and
// what it holds), http_session_reading.cpp (a request, until its handler has it), http_session_answering.cpp (its
// answer, in one piece), http_session_streaming.cpp (one that goes on). Which requests are refused by their heads is
// said in head_refusal.hpp.

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

  // How long a refused request is read and thrown away, so that the refusal is not lost to the reset that closing a
  // socket with unread bytes causes.
  static constexpr std::chrono::milliseconds kLingerTimeout{1000};

  enum class Phase : std::uint8_t {
    /// Before the first request, and over at once without TLS.
    handshaking,
    /// Not one byte of the next request is here.
    idle,
    reading,
    handling,
    /// Writing the answer, or what follows the last one.
    writing,
    /// Writing an answer that goes on, and reading whether the client is still there.
    streaming,
    closed,
  };

  // Whatever is thrown in here must not reach the executor, which serves all the others.
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

  /// `step`, when something has completed.
  template <typename Step>
  auto guarded(Step step) {
    return [self = shared_from_this(), step = std::move(step)](const auto&... results) {
      self->guard([&] { step(results...); });
    };
  }

  // --- http_session.cpp: the connection.
  void shakeHands();
  void awaitRequest();
  // An idle connection keeps nothing of its last exchange.
  void forget();
  void rest();
  void becomeIdler();
  /// Whether what it holds now is within the budget, or somebody was asked to give up theirs.
  bool hasRoom();
  // What every connection may have is not counted.
  [[nodiscard]] std::size_t bufferBytes() const;
  void hold(std::size_t bytes);
  void setAlarm(std::chrono::milliseconds timeout);
  void onTimeout();
  void close();

  // --- http_session_reading.cpp: a request, until its handler has it.
  void begin();
  void readHeader();
  void readBody();
  // What is here already.
  boost::system::error_code parse();
  void readMore(std::size_t wanted);
  void onHeader();
  // Before the body: what comes behind it changes nothing.
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
  /// `mayGoOn`: what comes next on the connection is the next request.
  void answer(InboundResponse&& response, bool mayGoOn);
  void refuse(InboundResponse&& response);
  void write(InboundResponse&& response, bool keepAlive);
  void writeMore();
  void linger();
  void discard(std::size_t discarded);

  // --- http_session_streaming.cpp: an answer that goes on; the first five are for its producer.
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
  /// `isOurs`: its producer does not know yet.
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
  // A request of it has proved an identity.
  bool isKnown_ = false;
  int refusals_ = 0;
  // Of the request under way.
  bool keepAlive_ = false;
  bool isHead_ = false;
  std::size_t worthReading_ = 0;
  // Distinguishes a late answer from one to the request under way.
  std::uint64_t requestNumber_ = 0;
  boost::beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  InboundRequest request_;
  // Of the request that is handled; until when it may be.
  std::shared_ptr<ClientWatch> client_;
  SteadyTime handledUntil_;
  // The stream says when there is something to read, also after the request for which it was asked.
  bool isAwaitingInput_ = false;
  // Of a request that was admitted by its head.
  std::function<void(std::string, Admission::Respond)> admitted_;
  std::function<void(std::shared_ptr<AnswerStream>, Admission::Respond)> streamed_;
  // The answer, and how much of it was taken.
  std::string answerHead_;
  std::string answerBody_;
  bool answerKeepsAlive_ = false;
  std::size_t written_ = 0;
  SteadyTime writeUntil_;
  // Of an answer that goes on: what is written when the piece under way was taken, and its producer.
  std::string unwritten_;
  AnswerWatcher producer_;
  bool isChunked_ = false;
  bool isFlushing_ = false;
  bool isEnding_ = false;
};

}  // namespace ackbox::transport
