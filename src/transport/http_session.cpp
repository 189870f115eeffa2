#include "transport/http_session.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/buffer.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/status.hpp>
#include <boost/beast/http/verb.hpp>
#include <charconv>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/http_date.hpp"
#include "transport/message_parser.hpp"
#include "transport/refusal.hpp"
#include "transport/request_budget.hpp"
#include "transport/stream.hpp"

namespace ackbox::transport {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;

// A connection is closed after so many answers to requests that proved no identity.
constexpr int kRefusalsMax = 10;
constexpr const char* kOnceOnly[] = {"webhook-id",   "webhook-timestamp", "webhook-signature",
                                     "outbox-agent", "outbox-version",    "content-type"};
constexpr std::string_view kEventPrefix = "ce-";
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
// How long, and how much of, a refused request is read and thrown away, so that the refusal is not lost to the reset
// that closing a socket with unread bytes causes.
constexpr std::chrono::milliseconds kLingerTimeout{1000};
constexpr std::size_t kLingerBytesMax = std::size_t{16} * 1024 * 1024;
constexpr std::size_t kDiscardBytes = std::size_t{16} * 1024;
// How long a client may take nothing of an answer that goes on. Longer than the write timeout of other answers: who
// works on what it has does not read meanwhile.
constexpr std::chrono::milliseconds kStallTimeout{60'000};
// How often it is looked whether a client that waits, and has sent more than its request, has gone behind that.
constexpr std::chrono::milliseconds kEndLook{1000};
// What a client may send while its answer goes on, such as the line's end that some send behind a request.
constexpr std::size_t kStrayBytesMax = std::size_t{4} * 1024;

bool isMalformed(const error_code& error) {
  static const boost::system::error_category& category = http::make_error_code(http::error::end_of_stream).category();
  return error.category() == category && error != http::error::end_of_stream && error != http::error::partial_message;
}

bool isNumber(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char letter) { return letter >= '0' && letter <= '9'; });
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

/// How the length of an answer's body is said.
enum class Framing : std::uint8_t {
  /// By `Content-Length`.
  counted,
  /// By chunks, for it is not known yet.
  chunked,
  /// By the end of the connection: the client's HTTP is too old for chunks.
  untilClosed,
};

/// The status line and the headers of an answer. `bodyBytes` is for one that is counted.
std::string headOf(const InboundResponse& response, Framing framing, std::size_t bodyBytes, bool keepAlive,
                   WallTime now) {
  const auto reason = http::obsolete_reason(http::int_to_status(static_cast<unsigned>(response.status)));
  std::string head = "HTTP/1.1 ";
  head.append(std::to_string(response.status)).append(" ").append(reason.data(), reason.size()).append("\r\n");
  const auto add = [&head](std::string_view name, std::string_view value) {
    head.append(name).append(": ").append(value).append("\r\n");
  };
  // A sender whose clock is wrong learns by how much.
  add("Date", protocol::formatHttpDate(now));
  if (!response.contentType.empty()) {
    add("Content-Type", response.contentType);
  }
  if (response.retryAfterSeconds) {
    add("Retry-After", std::to_string(*response.retryAfterSeconds));
  }
  for (const auto& [name, value] : response.headers) {
    add(name, value);
  }
  if (!keepAlive) {
    add("Connection", "close");
  }
  if (framing == Framing::counted) {
    add("Content-Length", std::to_string(bodyBytes));
  } else if (framing == Framing::chunked) {
    add("Transfer-Encoding", "chunked");
  }
  return head.append("\r\n");
}

/// The line before a chunk's bytes.
std::string chunkHead(std::size_t bytes) {
  std::array<char, 2 * sizeof(bytes)> digits{};
  char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), bytes, 16).ptr;
  return std::string(digits.data(), end) + "\r\n";
}

class Session final : public HttpSession, private AnswerStream, public std::enable_shared_from_this<Session> {
public:
  Session(std::shared_ptr<Stream> stream, std::shared_ptr<const HttpSessionOptions> options, HttpSessionWatcher watcher)
      : options_(std::move(options)),
        stream_(std::move(stream)),
        bornAt_(options_->clock->steadyNow()),
        alarm_(options_->clock->makeAlarm(stream_->get_executor())),
        watcher_(std::move(watcher)),
        buffer_(options_->headerBytesMax + kReadAheadBytes) {}

  ~Session() override { hold(0); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void start() override {
    post([this] { shakeHands(); });
  }

  void stop() override {
    post([this] {
      stopping_ = true;
      if (phase_ == Phase::idle || phase_ == Phase::handshaking) {
        close();
      } else if (phase_ == Phase::streaming) {
        finishStream(true);
      }
    });
  }

  [[nodiscard]] bool isIdler() const noexcept override { return isIdler_; }

  [[nodiscard]] bool isAtRest() const noexcept override { return isAtRest_; }

  void evict() override {
    // What it holds is as good as given back: others are not asked for the same bytes, nor it again.
    hold(0);
    post([this] {
      if (phase_ == Phase::closed) {
        return;
      }
      if (isIdler_ || isAtRest_) {
        ++options_->totals->evicted;
        close();
      } else {
        watcher_.changed();
      }
    });
  }

  [[nodiscard]] std::size_t bytesHeld() const noexcept override { return held_; }

private:
  using Parser = MessageParser<true>;

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
    asio::post(stream_->get_executor(), [self = shared_from_this(), step = std::move(step)] { self->guard(step); });
  }

  /// `step`, when something has completed.
  template <typename Step>
  auto guarded(Step step) {
    return [self = shared_from_this(), step = std::move(step)](const auto&... results) {
      self->guard([&] { step(results...); });
    };
  }

  void shakeHands() {
    phase_ = Phase::handshaking;
    setAlarm(options_->handshakeTimeout);
    stream_->asyncHandshake(guarded([this](const std::string& failure) {
      if (phase_ != Phase::handshaking) {
        return;
      }
      if (failure.empty()) {
        certificateAgents_ = stream_->peerUris();
        certificateEnd_ = stream_->peerCertificateEnd();
        awaitRequest();
      } else {
        close();
      }
    }));
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
    if (buffer_.size() > 0) {
      begin();
      return;
    }
    forget();
    setAlarm(options_->idleTimeout);
    stream_->async_read_some(buffer_.prepare(kFirstReadBytes),
                             guarded([this](const error_code& error, std::size_t size) {
                               if (phase_ != Phase::idle) {
                                 return;
                               }
                               if (error) {
                                 close();
                                 return;
                               }
                               buffer_.commit(size);
                               begin();
                             }));
    rest();
  }

  // An idle connection keeps nothing of its last exchange.
  void forget() {
    parser_.reset();
    request_ = {};
    admitted_ = {};
    client_ = {};
    streamed_ = {};
    answerHead_ = {};
    answerBody_ = {};
    if (buffer_.size() == 0 && buffer_.capacity() > kFirstReadBytes) {
      buffer_.shrink_to_fit();
    }
    hold(0);
  }

  void begin() {
    phase_ = Phase::reading;
    isAtRest_ = false;
    ++requestNumber_;
    parser_.emplace(options_->headerBytesMax, options_->sink.bodyBytesMax);
    setAlarm(options_->requestTimeout);
    readHeader();
  }

  void readHeader() {
    if (const error_code error = parse(); error) {
      onReadError(error);
    } else if (parser_->is_header_done()) {
      onHeader();
    } else {
      readMore(kFirstReadBytes);
    }
  }

  void readBody() {
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

  // What is here already.
  error_code parse() {
    error_code error;
    if (buffer_.size() > 0 && !parser_->is_done()) {
      buffer_.consume(parser_->take(buffer_.data(), error));
    }
    return error == http::error::need_more ? error_code() : error;
  }

  void readMore(std::size_t wanted) {
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
                                 // The peer's end in the middle of a request: an answer would reach nobody.
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

  /// Whether what it holds now is within the budget, or somebody was asked to give up theirs.
  bool hasRoom() {
    hold(parser_->body().capacity() + bufferBytes());
    return !options_->budget->isOverdrawn() || held_ == 0 || watcher_.overdrawn();
  }

  // What every connection may have is not counted.
  [[nodiscard]] std::size_t bufferBytes() const {
    return buffer_.capacity() > kFirstReadBytes ? buffer_.capacity() : 0;
  }

  void hold(std::size_t bytes) {
    if (bytes != held_) {
      options_->budget->change(held_.exchange(bytes), bytes);
    }
  }

  void onHeader() {
    // HTTP/1.0 has no connection that goes on, whatever its client asks for.
    keepAlive_ = parser_->keep_alive() && parser_->version() >= 11;
    isHead_ = parser_->method() == http::verb::head;
    const std::string_view target = parser_->target();
    const bool isCompatible = !options_->compatibilityPath.empty() && target == options_->compatibilityPath;
    if (certificateEnd_ && options_->clock->wallNow() >= *certificateEnd_) {
      // It verifies nobody any more, and the handshake of a new connection says so.
      close();
    } else if (!options_->sink.admit && !isCompatible && target != options_->path) {
      refuse(notFound());
    } else if (!options_->sink.admit && parser_->method() != http::verb::post) {
      refuse(methodNotAllowed());
    } else if (const char* const ambiguity = findAmbiguity(); ambiguity != nullptr) {
      refuse(badRequest(ambiguity));
    } else if (const std::string_view coding = (*parser_)["content-encoding"];
               !coding.empty() && !boost::beast::iequals(coding, "identity")) {
      refuse(codedContent());
    } else if (const std::string_view expected = (*parser_)["expect"];
               !expected.empty() && !boost::beast::iequals(expected, "100-continue")) {
      refuse(expectationFailed());
    } else if (options_->sink.admit) {
      admitHead(!expected.empty());
    } else {
      takeHead();
      admitBody(!expected.empty());
    }
  }

  /// What the parser, or somebody before us, might take for another request, or for more than one; null: nothing.
  [[nodiscard]] const char* findAmbiguity() const {
    const Parser& request = *parser_;
    const std::size_t hosts = request.count("host");
    const std::size_t lengths = request.count("content-length");
    const std::size_t codings = request.count("transfer-encoding");
    if (hosts > 1 || (hosts == 0 && request.version() == 11)) {
      return "There must be one Host header.";
    }
    if (lengths > 1 || (lengths == 1 && !isNumber(request["content-length"]))) {
      return "There must be one Content-Length, and one number in it.";
    }
    const bool isChunked = codings == 1 && boost::beast::iequals(request["transfer-encoding"], "chunked");
    if (codings > 0 && (!isChunked || request.version() < 11)) {
      return "The only transfer coding that is understood is chunked, alone, in HTTP/1.1.";
    }
    if (std::ranges::any_of(kOnceOnly, [&](const char* name) { return request.count(name) > 1; })) {
      return "A header that identifies the request occurs twice.";
    }
    return nullptr;
  }

  // Before the body: what comes behind it changes nothing.
  void takeHead() {
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

  void takeEventHeaders() {
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

  void admitHead(bool isAskedBefore) {
    Admission admission = options_->sink.admit(ParsedHead(*parser_, certificateAgents_, *stream_));
    if (admission.refusal) {
      // Where nothing follows the head, what comes next on the connection is the next request.
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

  void admitBody(bool isAskedBefore) {
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

  void sendContinue() {
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

  void onReadError(const error_code& error) {
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

  // It proves nothing, and so its answer does not depend on its body.
  void handleWithoutBody() {
    keepAlive_ = false;
    parser_->body() = {};
    handle();
  }

  void handle() {
    phase_ = Phase::handling;
    isIdler_ = false;
    // A handler that never answers must not hold the connection's place for ever.
    handledUntil_ = options_->clock->steadyNow() + options_->requestTimeout;
    setAlarm(options_->requestTimeout);
    request_.body = std::move(parser_->body());
    // The handler may have it for longer than the connection.
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
        const std::shared_ptr<Session> self = shared_from_this();
        std::exchange(streamed_, {})(std::shared_ptr<AnswerStream>(self, this), std::move(respond));
      } else if (admitted_) {
        std::exchange(admitted_, {})(std::move(request_.body), std::move(respond));
        awaitEnd();
      } else {
        options_->sink.handle(std::move(request_), std::move(respond));
      }
    } catch (...) {
      // Whatever it is, it must not reach the executor, which serves all the others.
      refuseOnce();
    }
  }

  // A client that has gone keeps no place while its request waits. Nothing is read: that would be its next request.
  void awaitEnd() {
    if (client_ && client_->gone && !isAwaitingInput_) {
      isAwaitingInput_ = true;
      stream_->asyncAwaitInput(guarded([this] {
        isAwaitingInput_ = false;
        lookForEnd();
      }));
    }
  }

  void lookForEnd() {
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

  // The handler threw; it may have answered before that.
  void refuseOnce() {
    if (phase_ == Phase::handling) {
      refuse(handlerFailed());
    } else if (phase_ == Phase::streaming) {
      close();
    }
  }

  void onResponse(std::uint64_t number, InboundResponse&& response) {
    if (phase_ != Phase::handling || number != requestNumber_) {
      return;
    }
    answer(std::move(response), true);
  }

  /// `mayGoOn`: what comes next on the connection is the next request.
  void answer(InboundResponse&& response, bool mayGoOn) {
    isKnown_ = isKnown_ || response.authenticated;
    refusals_ += response.authenticated ? 0 : 1;
    const bool isOld = options_->clock->steadyNow() - bornAt_ >= options_->connectionAge;
    write(std::move(response), mayGoOn && keepAlive_ && !stopping_ && !isOld && refusals_ < kRefusalsMax);
  }

  void refuse(InboundResponse&& response) {
    ++options_->totals->refused;
    write(std::move(response), false);
  }

  void write(InboundResponse&& response, bool keepAlive) {
    phase_ = Phase::writing;
    client_ = {};
    if (isHead_) {
      response.body.clear();
    }
    answerHead_ = headOf(response, Framing::counted, response.body.size(), keepAlive, options_->clock->wallNow());
    answerBody_ = std::move(response.body);
    answerKeepsAlive_ = keepAlive;
    written_ = 0;
    writeUntil_ = options_->clock->steadyNow() + options_->requestTimeout;
    if (!keepAlive) {
      // Nothing that came for it is needed any more.
      parser_.reset();
      buffer_.clear();
      hold(0);
    }
    writeMore();
    // The reason of a refusal shall arrive: the first piece of the answer is on its way.
    becomeIdler();
  }

  void writeMore() {
    const SteadyTime now = options_->clock->steadyNow();
    setAlarm(std::min(options_->writeTimeout, std::chrono::ceil<std::chrono::milliseconds>(writeUntil_ - now)));
    const std::size_t ofHead = std::min(written_, answerHead_.size());
    const std::array<asio::const_buffer, 2> rest = {asio::buffer(answerHead_) + ofHead,
                                                    asio::buffer(answerBody_) + (written_ - ofHead)};
    stream_->async_write_some(rest, guarded([this](const error_code& error, std::size_t size) {
                                if (phase_ != Phase::writing) {
                                  return;
                                }
                                written_ += size;
                                if (error) {
                                  close();
                                } else if (written_ < answerHead_.size() + answerBody_.size()) {
                                  writeMore();
                                } else if (answerKeepsAlive_) {
                                  awaitRequest();
                                } else {
                                  linger();
                                }
                              }));
  }

  // The stream's members, for its producer.

  void open(InboundResponse head, AnswerWatcher watcher) override {
    if (phase_ != Phase::handling) {
      return;
    }
    phase_ = Phase::streaming;
    isKnown_ = isKnown_ || head.authenticated;
    isChunked_ = parser_->version() >= 11;
    producer_ = std::move(watcher);
    answerHead_ =
        headOf(head, isChunked_ ? Framing::chunked : Framing::untilClosed, 0, false, options_->clock->wallNow());
    forgetRequest();
    alarm_->cancel();
    if (stopping_) {
      finishStream(true);
      return;
    }
    unwritten_ = std::move(head.body);
    watchClient(0);
    flush();
  }

  void send(std::string_view bytes) override {
    if (phase_ == Phase::streaming && !isEnding_) {
      unwritten_ += bytes;
      flush();
    }
  }

  [[nodiscard]] std::size_t unread() const noexcept override {
    return phase_ == Phase::streaming ? unwritten_.size() + answerHead_.size() + answerBody_.size() - written_ : 0;
  }

  void finish() override {
    if (phase_ == Phase::streaming) {
      producer_ = {};
      finishStream(false);
    }
  }

  void cut() override {
    producer_ = {};
    close();
  }

  // The request's bytes; what its client sends beyond it is read and dropped.
  void forgetRequest() {
    parser_.reset();
    request_ = {};
    buffer_.clear();
    buffer_.shrink_to_fit();
    hold(0);
  }

  void watchClient(std::size_t discarded) {
    stream_->async_read_some(buffer_.prepare(kFirstReadBytes),
                             guarded([this, discarded](const error_code& error, std::size_t size) {
                               if (phase_ == Phase::closed) {
                                 return;
                               }
                               if (error || discarded + size > kStrayBytesMax) {
                                 close();
                               } else {
                                 watchClient(discarded + size);
                               }
                             }));
  }

  // One piece at a time: what is written meanwhile goes with the next.
  void flush() {
    if (isFlushing_ || (answerHead_.empty() && unwritten_.empty() && !isEnding_)) {
      return;
    }
    isFlushing_ = true;
    written_ = 0;
    const bool isLast = isEnding_;
    const std::string bytes = std::exchange(unwritten_, {});
    if (!bytes.empty()) {
      answerBody_ = isChunked_ ? chunkHead(bytes.size()) + bytes + "\r\n" : bytes;
    }
    if (isLast && isChunked_) {
      answerBody_ += "0\r\n\r\n";
    }
    if (answerHead_.empty() && answerBody_.empty()) {
      flushed(isLast);
    } else {
      flushMore(isLast);
    }
  }

  void flushMore(bool isLast) {
    setAlarm(kStallTimeout);
    const std::size_t ofHead = std::min(written_, answerHead_.size());
    const std::array<asio::const_buffer, 2> rest = {asio::buffer(answerHead_) + ofHead,
                                                    asio::buffer(answerBody_) + (written_ - ofHead)};
    stream_->async_write_some(rest, guarded([this, isLast](const error_code& error, std::size_t size) {
                                if (phase_ != Phase::streaming) {
                                  return;
                                }
                                written_ += size;
                                if (error) {
                                  close();
                                } else if (written_ < answerHead_.size() + answerBody_.size()) {
                                  flushMore(isLast);
                                } else {
                                  flushed(isLast);
                                }
                              }));
  }

  void flushed(bool isLast) {
    isFlushing_ = false;
    written_ = 0;
    answerHead_ = {};
    answerBody_ = {};
    alarm_->cancel();
    if (isLast) {
      // What the client still sends is read by the one read that is under way.
      phase_ = Phase::writing;
      setAlarm(kLingerTimeout);
      stream_->asyncFinish(guarded([] {}));
      return;
    }
    flush();
    if (!isFlushing_ && producer_.taken) {
      // It may end the answer, and with it its watcher.
      const std::function<void()> taken = producer_.taken;
      taken();
    }
  }

  /// `isOurs`: its producer does not know yet.
  void finishStream(bool isOurs) {
    if (isEnding_) {
      return;
    }
    isEnding_ = true;
    const AnswerWatcher producer = std::exchange(producer_, {});
    if (isOurs && producer.ended) {
      producer.ended(AnswerEnd::finished);
    }
    flush();
  }

  void rest() {
    isAtRest_ = true;
    if (isKnown_) {
      watcher_.changed();
    }
  }

  void becomeIdler() {
    if (!isIdler_ && !isKnown_) {
      isIdler_ = true;
      watcher_.changed();
    }
  }

  void linger() {
    forget();
    setAlarm(kLingerTimeout);
    stream_->asyncFinish(guarded([this] { discard(0); }));
    rest();
  }

  void discard(std::size_t discarded) {
    if (phase_ == Phase::closed) {
      return;
    }
    stream_->asyncDiscardSome(buffer_.prepare(kDiscardBytes),
                              guarded([this, discarded](const error_code& error, std::size_t size) {
                                if (error || discarded + size > kLingerBytesMax) {
                                  close();
                                } else {
                                  discard(discarded + size);
                                }
                              }));
  }

  void setAlarm(std::chrono::milliseconds timeout) {
    alarm_->set(options_->clock->steadyNow() + timeout, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) {
        self->guard([&] { self->onTimeout(); });
      }
    });
  }

  void onTimeout() {
    if (phase_ == Phase::handling && options_->clock->steadyNow() < handledUntil_) {
      lookForEnd();
    } else if (phase_ == Phase::handling) {
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
    hold(0);
    alarm_->cancel();
    stream_->close();
    std::exchange(watcher_, {}).ended();
    if (const AnswerWatcher producer = std::exchange(producer_, {}); producer.ended) {
      producer.ended(AnswerEnd::lost);
    }
    if (const std::shared_ptr<ClientWatch> client = std::exchange(client_, {}); client && client->gone) {
      client->gone();
    }
  }

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

}  // namespace

std::shared_ptr<HttpSession> makeHttpSession(std::shared_ptr<Stream> stream,
                                             std::shared_ptr<const HttpSessionOptions> options,
                                             HttpSessionWatcher watcher) {
  return std::make_shared<Session>(std::move(stream), std::move(options), std::move(watcher));
}

}  // namespace ackbox::transport
