// Goal: a connection ends only by its own doing, gives way exactly until its peer is known, and keeps its times by the
// given clock. Method: a session on a stream that the test controls: it supplies the bytes that are read, takes as many
// written bytes as the test allows, and throws on demand; an executor that the test runs, and a manual clock.

#include "transport/http_session.hpp"

#include <doctest/doctest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/manual_clock.hpp"
#include "transport/request_budget.hpp"
#include "transport/stream.hpp"

namespace ackbox::transport::http_session_test {
namespace {

namespace asio = boost::asio;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

class ScriptedStream final : public Stream {
public:
  explicit ScriptedStream(asio::io_context& context) : context_(context) {}

  executor_type get_executor() override { return context_.get_executor(); }
  void asyncHandshake(std::function<void(std::string)> done) override { done({}); }
  void asyncFinish(std::function<void()> done) override { asio::post(context_, std::move(done)); }
  void asyncDiscardSome(asio::mutable_buffer buffer, Transferred done) override { readSome(buffer, std::move(done)); }
  void asyncAwaitInput(std::function<void()> done) override { awaiting_.push_back(std::move(done)); }
  bool isQuiet() override { return true; }
  bool hasEnded() override { return isEnded; }
  std::optional<WallTime> peerCertificateEnd() const override { return certificateEnd; }
  void close() override {
    isClosed = true;
    complete(reading_, asio::error::operation_aborted, 0);
    complete(writing_, asio::error::operation_aborted, 0);
    tellInput();
  }

  /// The peer sends these bytes.
  void say(std::string_view bytes) {
    REQUIRE(reading_);
    const std::size_t size = asio::buffer_copy(space_, asio::buffer(bytes));
    REQUIRE(size == bytes.size());
    complete(reading_, {}, size);
    context_.restart();
    context_.poll();
  }
  /// The peer takes some of the bytes that are being written.
  void take(std::size_t bytes) {
    REQUIRE(writing_);
    complete(writing_, {}, bytes);
    context_.restart();
    context_.poll();
  }
  /// The peer ends the connection, or its half of it.
  void hangUp() {
    REQUIRE(reading_);
    complete(reading_, asio::error::eof, 0);
    context_.restart();
    context_.poll();
  }
  /// Bytes have come, or the end, which is not read yet.
  void bring() {
    tellInput();
    context_.restart();
    context_.poll();
  }
  [[nodiscard]] bool isReading() const { return reading_.has_value(); }
  [[nodiscard]] bool isWriting() const { return writing_.has_value(); }

  bool throwsWhenRead = false;
  bool isEnded = false;
  /// If false, writes wait for `take`.
  bool takesAll = true;
  bool isClosed = false;
  std::string written;
  std::optional<WallTime> certificateEnd;

protected:
  void readSome(asio::mutable_buffer buffer, Transferred done) override {
    if (throwsWhenRead) {
      throw std::length_error("too long");
    }
    space_ = buffer;
    reading_.emplace(std::move(done));
  }
  void writeSome(const ConstBuffers& buffers, std::size_t count, Transferred done) override {
    std::size_t size = 0;
    written.clear();
    for (std::size_t place = 0; place < count; ++place) {
      const asio::const_buffer& buffer = buffers.at(place);
      written.append(static_cast<const char*>(buffer.data()), buffer.size());
      size += buffer.size();
    }
    writing_.emplace(std::move(done));
    if (takesAll) {
      complete(writing_, {}, size);
    }
  }

private:
  void tellInput() {
    for (std::function<void()>& done : std::exchange(awaiting_, {})) {
      asio::post(context_, std::move(done));
    }
  }
  void complete(std::optional<Transferred>& pending, const Error& error, std::size_t size) {
    if (pending) {
      asio::post(context_, [done = std::move(*pending), error, size]() mutable { std::move(done)(error, size); });
      pending.reset();
    }
  }

  asio::io_context& context_;
  asio::mutable_buffer space_;
  std::vector<std::function<void()>> awaiting_;
  // Boost 1.81 cannot assign a handler to another.
  std::optional<Transferred> reading_;
  std::optional<Transferred> writing_;
};

struct Stage {
  Stage() : stream(std::make_shared<ScriptedStream>(context)), options(std::make_shared<HttpSessionOptions>()) {
    options->path = "/inbox";
    options->headerBytesMax = 8192;
    options->handshakeTimeout = seconds(10);
    options->requestTimeout = seconds(30);
    options->writeTimeout = seconds(10);
    options->idleTimeout = seconds(60);
    options->connectionAge = minutes(10);
    options->budget = std::make_shared<RequestBudget>(std::size_t{100} * 1024);
    options->totals = std::make_shared<HttpSessionTotals>();
    options->clock = clock;
    options->sink.bodyBytesMax = std::size_t{1024} * 1024;
    options->sink.handle = [this](InboundRequest request, RequestSink::Respond respond) {
      asked = std::move(request);
      answer = std::move(respond);
      if (throwsWhenAsked) {
        throw std::length_error("too long");
      }
    };
  }
  ~Stage() {
    answer = nullptr;
    // Operations that wait keep the stream and the session alive.
    stream->close();
    run();
  }
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  void begin() {
    HttpSessionWatcher watcher;
    watcher.ended = [this] { ++ended; };
    watcher.changed = [this] { ++changed; };
    watcher.overdrawn = [this] {
      ++overdrawn;
      return isSomebodyFound;
    };
    session = makeHttpSession(stream, options, std::move(watcher));
    session->start();
    run();
  }
  void run() {
    context.restart();
    context.poll();
  }
  void wait(milliseconds time) {
    clock->advance(time);
    run();
  }
  void respond(bool authenticated, std::string body = "{}") {
    InboundResponse response;
    response.status = authenticated ? 200 : 401;
    response.authenticated = authenticated;
    response.body = std::move(body);
    REQUIRE(answer);
    std::exchange(answer, nullptr)(std::move(response));
    run();
  }
  [[nodiscard]] bool hasClosed() const { return stream->isClosed && ended == 1; }

  asio::io_context context;
  std::shared_ptr<testing::ManualClock> clock = std::make_shared<testing::ManualClock>();
  std::shared_ptr<ScriptedStream> stream;
  std::shared_ptr<HttpSessionOptions> options;
  std::shared_ptr<HttpSession> session;
  InboundRequest asked;
  RequestSink::Respond answer;
  bool throwsWhenAsked = false;
  bool isSomebodyFound = true;
  int ended = 0;
  int changed = 0;
  int overdrawn = 0;
};

/// A session that answers requests with answers that go on.
struct StreamStage : Stage {
  StreamStage() {
    options->sink.admit = [this](const RequestHead&) {
      Admission admission;
      admission.stream = [this](std::shared_ptr<AnswerStream> answering, const Admission::Respond& respond) {
        producer = std::move(answering);
        if (throwsWhenAsked) {
          throw std::length_error("too long");
        }
        if (status != 200) {
          InboundResponse refusal;
          refusal.status = status;
          respond(std::move(refusal));
          return;
        }
        InboundResponse head;
        head.authenticated = true;
        AnswerWatcher watcher;
        watcher.taken = [this] { ++taken; };
        watcher.ended = [this](AnswerEnd end) { ends.push_back(end); };
        producer->open(std::move(head), std::move(watcher));
      };
      return admission;
    };
  }

  void open(const std::string& version = "1.1") {
    begin();
    stream->say("GET /events HTTP/" + version + "\r\nHost: here\r\n\r\n");
  }
  void send(const std::string& text) {
    producer->send(text);
    run();
  }

  std::shared_ptr<AnswerStream> producer;
  int status = 200;
  int taken = 0;
  std::vector<AnswerEnd> ends;
};

using Ends = std::vector<AnswerEnd>;

std::string request(const std::string& body = "{}", const std::string& headers = {}) {
  return "POST /inbox HTTP/1.1\r\nHost: here\r\n" + headers + "Content-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

TEST_CASE("P11: what a stream, a handler or the judge of a header throws ends its own connection, and is counted") {
  {
    Stage stage;
    stage.stream->throwsWhenRead = true;
    stage.begin();
    CHECK(stage.hasClosed());
    CHECK(stage.options->totals->broken == 1);
  }
  {
    Stage stage;
    stage.begin();
    stage.stream->throwsWhenRead = true;
    stage.stream->say("POST /inbox HTTP/1.1\r\n");
    CHECK(stage.hasClosed());
    CHECK(stage.options->totals->broken == 1);
  }
  {
    Stage stage;
    stage.options->sink.worthReading = [](const InboundRequest&) -> std::size_t { throw std::length_error("long"); };
    stage.begin();
    stage.stream->say(request());
    CHECK(stage.hasClosed());
    CHECK(stage.options->totals->broken == 1);
  }
  Stage stage;
  stage.throwsWhenAsked = true;
  stage.begin();
  stage.stream->say(request());
  CHECK(stage.stream->written.starts_with("HTTP/1.1 500 "));
}

TEST_CASE("P11: a connection gives way until a request has proved whom it is from, also while it takes its refusal") {
  Stage stage;
  stage.stream->takesAll = false;
  stage.begin();
  CHECK(stage.session->isIdler());
  stage.stream->say(request());
  // Its handler is at work, and it may prove an identity.
  CHECK_FALSE(stage.session->isIdler());
  stage.session->evict();
  stage.run();
  CHECK_FALSE(stage.stream->isClosed);
  CHECK(stage.changed == 1);
  stage.respond(false);
  CHECK(stage.stream->isWriting());
  CHECK(stage.session->isIdler());
  CHECK(stage.changed == 2);
  stage.session->evict();
  stage.run();
  CHECK(stage.hasClosed());
  CHECK(stage.options->totals->evicted == 1);
}

TEST_CASE("P11: a connection that has proved whom it is from is no idler, and gives way between two requests alone") {
  Stage stage;
  stage.begin();
  stage.stream->say(request());
  stage.respond(true);
  CHECK_FALSE(stage.session->isIdler());
  CHECK(stage.session->isAtRest());
  CHECK(stage.changed == 1);
  const std::string whole = request();
  stage.stream->say(whole.substr(0, 20));
  CHECK_FALSE(stage.session->isAtRest());
  stage.session->evict();
  stage.run();
  CHECK_FALSE(stage.stream->isClosed);
  stage.stream->say(whole.substr(20));
  CHECK_FALSE(stage.session->isAtRest());
  stage.session->evict();
  stage.run();
  CHECK_FALSE(stage.stream->isClosed);
  stage.respond(false);
  CHECK_FALSE(stage.session->isIdler());
  CHECK(stage.session->isAtRest());
  stage.session->evict();
  stage.run();
  CHECK(stage.hasClosed());
}

TEST_CASE("P11: an answer that is taken by drops is given up where no drop comes, and when its whole time is over") {
  Stage stalled;
  stalled.stream->takesAll = false;
  stalled.begin();
  stalled.stream->say(request());
  stalled.respond(true, std::string(1000, 'x'));
  stalled.wait(seconds(9));
  stalled.stream->take(1);
  stalled.wait(seconds(9));
  CHECK_FALSE(stalled.stream->isClosed);
  stalled.wait(seconds(1));
  CHECK(stalled.hasClosed());

  Stage slow;
  slow.stream->takesAll = false;
  slow.begin();
  slow.stream->say(request());
  slow.respond(true, std::string(1000, 'x'));
  for (int count = 0; count < 3; ++count) {
    slow.wait(seconds(9));
    CHECK_FALSE(slow.stream->isClosed);
    slow.stream->take(1);
  }
  slow.wait(seconds(3));
  CHECK(slow.hasClosed());
}

TEST_CASE("P11: the tenth answer without proof is a connection's last") {
  Stage stage;
  stage.begin();
  for (int count = 1; count <= 10; ++count) {
    CHECK_FALSE(stage.stream->isClosed);
    stage.stream->say(request());
    stage.respond(false);
    CHECK((stage.stream->written.find("Connection: close\r\n") != std::string::npos) == (count == 10));
  }
}

TEST_CASE("P11: a request's time begins with its first byte, also where that came with the request before it") {
  Stage stage;
  stage.begin();
  stage.stream->say(request() + "P");
  stage.respond(true);
  stage.wait(seconds(29));
  CHECK_FALSE(stage.stream->isClosed);
  stage.wait(seconds(1));
  CHECK(stage.hasClosed());
}

TEST_CASE("P11: what comes behind a refusal is thrown away, up to a bound at which the connection is closed") {
  Stage stage;
  stage.begin();
  stage.stream->say("GET /inbox HTTP/1.1\r\nHost: here\r\n\r\n");
  CHECK(stage.stream->written.starts_with("HTTP/1.1 405 "));
  const std::string piece(std::size_t{16} * 1024, 'x');
  std::size_t thrownAway = 0;
  for (; !stage.stream->isClosed && thrownAway < std::size_t{64} * 1024 * 1024; thrownAway += piece.size()) {
    REQUIRE(stage.stream->isReading());
    stage.stream->say(piece);
  }
  CHECK(thrownAway > piece.size());
  CHECK(stage.hasClosed());
}

TEST_CASE("P11: a connection that has lived its time is closed behind the next answer") {
  Stage stage;
  stage.options->connectionAge = minutes(1);
  stage.begin();
  const auto isLast = [&] {
    stage.stream->say(request());
    stage.respond(true);
    return stage.stream->written.find("Connection: close\r\n") != std::string::npos;
  };
  CHECK_FALSE(isLast());
  stage.wait(seconds(59));
  CHECK_FALSE(isLast());
  stage.wait(seconds(1));
  CHECK(isLast());
}

TEST_CASE("P11: a connection whose certificate has ended meanwhile asks for nothing more") {
  Stage stage;
  stage.stream->certificateEnd = stage.clock->wallNow() + seconds(30);
  stage.begin();
  stage.stream->say(request());
  stage.respond(true);
  CHECK(stage.stream->written.starts_with("HTTP/1.1 200 "));
  stage.wait(seconds(30));
  stage.stream->say(request());
  CHECK(stage.hasClosed());
  CHECK_FALSE(stage.answer);
}

TEST_CASE("P11: a request's bytes count for as long as it is read, and handled, and an overdrawn budget is told") {
  Stage stage;
  stage.begin();
  const std::string piece(4000, 'x');
  stage.stream->say("POST /inbox HTTP/1.1\r\nHost: here\r\nContent-Length: 200000\r\n\r\n");
  for (int count = 0; count < 10; ++count) {
    stage.stream->say(piece);
  }
  CHECK(stage.session->bytesHeld() >= 40'000);
  CHECK(stage.options->budget->bytes() == stage.session->bytesHeld());
  CHECK(stage.overdrawn == 0);
  for (int count = 10; count < 40; ++count) {
    stage.stream->say(piece);
  }
  CHECK(stage.overdrawn > 0);
  for (int count = 40; count < 50; ++count) {
    stage.stream->say(piece);
  }
  CHECK(stage.asked.body.size() == 200'000);
  CHECK(stage.session->bytesHeld() < 40'000);
  CHECK(stage.options->budget->bytes() >= 200'000);
  stage.respond(true);
  CHECK(stage.options->budget->bytes() == 0);
}

TEST_CASE("P11: where nobody can give way, a request beyond the budget gets a 503, and its bytes are given back") {
  Stage stage;
  stage.isSomebodyFound = false;
  stage.begin();
  stage.options->budget->change(0, std::size_t{100} * 1024);
  stage.stream->say("POST /inbox HTTP/1.1\r\nHost: here\r\nContent-Length: 200000\r\n\r\n");
  CHECK(stage.stream->written.starts_with("HTTP/1.1 503 "));
  CHECK(stage.stream->written.find("Retry-After: ") != std::string::npos);
  CHECK(stage.options->budget->bytes() == std::size_t{100} * 1024);
}

TEST_CASE("P11: a body that is not worth reading is judged without it, and its connection closed behind the answer") {
  for (const std::string& body :
       {std::string("Content-Length: 5000\r\n\r\n"),
        "Transfer-Encoding: chunked\r\n\r\n800\r\n" + std::string(2048, 'x') + "\r\n800\r\n"}) {
    Stage stage;
    stage.options->sink.worthReading = [](const InboundRequest& head) -> std::size_t {
      CHECK(head.claimedAgent == "urn:agent:alice");
      return 4000;
    };
    stage.begin();
    stage.stream->say("POST /inbox HTTP/1.1\r\nHost: here\r\noutbox-agent: urn:agent:alice\r\n" + body);
    CHECK(stage.asked.claimedAgent == "urn:agent:alice");
    CHECK(stage.asked.body.empty());
    stage.respond(false);
    CHECK(stage.stream->written.find("Connection: close\r\n") != std::string::npos);
  }
}

TEST_CASE("P11: a budget may be used up to its last byte, and is overdrawn by the next") {
  RequestBudget budget(100);
  budget.change(0, 100);
  CHECK_FALSE(budget.isOverdrawn());
  budget.change(0, 1);
  CHECK(budget.isOverdrawn());
  budget.change(1, 0);
  CHECK_FALSE(budget.isOverdrawn());
}

TEST_CASE("What is empty takes no room among the pieces of one write") {
  asio::io_context context;
  const auto stream = std::make_shared<ScriptedStream>(context);
  std::vector<asio::const_buffer> pieces(100);
  pieces.push_back(asio::buffer("body", 4));
  std::size_t taken = 0;
  stream->async_write_some(pieces, [&taken](const Stream::Error& /*error*/, std::size_t size) { taken = size; });
  context.poll();
  CHECK(stream->written == "body");
  CHECK(taken == 4);
}

TEST_CASE("An answer that goes on comes in chunks, of what was sent while the one before was taken") {
  StreamStage stage;
  stage.stream->takesAll = false;
  stage.open();
  CHECK(stage.stream->written.starts_with("HTTP/1.1 200 OK\r\n"));
  CHECK(stage.stream->written.ends_with("Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n"));
  CHECK(stage.producer->unread() == stage.stream->written.size());
  CHECK(stage.taken == 0);
  stage.send("one");
  stage.send("seventeen letters");
  stage.stream->take(stage.stream->written.size());
  CHECK(stage.stream->written == "14\r\noneseventeen letters\r\n");
  CHECK(stage.taken == 0);
  stage.stream->take(10);
  CHECK(stage.stream->written == "enteen letters\r\n");
  CHECK(stage.producer->unread() == 16);
  stage.stream->take(16);
  CHECK(stage.producer->unread() == 0);
  CHECK(stage.taken == 1);
  CHECK_FALSE(stage.stream->isWriting());
  stage.producer->finish();
  stage.producer->send("late");
  CHECK(stage.stream->written == "0\r\n\r\n");
  stage.stream->take(5);
  CHECK_FALSE(stage.stream->isClosed);
  stage.stream->hangUp();
  CHECK(stage.hasClosed());
  // Its producer ended it.
  CHECK(stage.ends.empty());
}

TEST_CASE("An answer that goes on is without chunks for HTTP/1.0") {
  StreamStage stage;
  stage.open("1.0");
  CHECK(stage.stream->written.find("Transfer-Encoding") == std::string::npos);
  stage.send("one");
  CHECK(stage.stream->written == "one");
  stage.producer->finish();
  stage.run();
  CHECK(stage.stream->written == "one");
}

TEST_CASE("P11: an answer that goes on ends with its client, at once, and by no time while that takes it") {
  StreamStage stage;
  stage.open();
  stage.wait(minutes(60));
  CHECK(stage.ends.empty());
  CHECK_FALSE(stage.session->isIdler());
  stage.stream->hangUp();
  CHECK(stage.ends == Ends{AnswerEnd::lost});
  CHECK(stage.hasClosed());
  stage.send("late");
  CHECK(stage.producer->unread() == 0);
}

TEST_CASE(
    "P11: a client that takes nothing of an answer that goes on is cut after a minute, or when it was asked for") {
  StreamStage silent;
  silent.stream->takesAll = false;
  silent.open();
  silent.wait(seconds(59));
  silent.stream->take(1);
  silent.wait(seconds(59));
  CHECK(silent.ends.empty());
  silent.wait(seconds(1));
  CHECK(silent.ends == Ends{AnswerEnd::lost});
  CHECK(silent.hasClosed());

  StreamStage cut;
  cut.stream->takesAll = false;
  cut.open();
  cut.producer->cut();
  cut.run();
  CHECK(cut.hasClosed());
  CHECK(cut.ends.empty());
}

TEST_CASE("P11: what a client sends while its answer goes on is thrown away up to a bound") {
  StreamStage stage;
  stage.open();
  stage.stream->say("\r\n");
  stage.stream->say(std::string(4000, 'x'));
  CHECK_FALSE(stage.stream->isClosed);
  stage.stream->say(std::string(100, 'x'));
  CHECK(stage.ends == Ends{AnswerEnd::lost});
  CHECK(stage.hasClosed());
}

/// A session with requests that wait for long, and that get notice when their client has gone.
struct WaitStage : Stage {
  WaitStage() {
    options->sink.admit = [this](const RequestHead&) {
      Admission admission;
      admission.client = std::make_shared<ClientWatch>();
      admission.handle = [this, client = admission.client](const std::string&, Admission::Respond respond) {
        answer = std::move(respond);
        if (waits) {
          client->gone = [this] { ++gone; };
        }
      };
      return admission;
    };
    begin();
    ask();
  }

  void ask() { stream->say("GET /wait HTTP/1.1\r\nHost: here\r\n\r\n"); }

  bool waits = true;
  int gone = 0;
};

TEST_CASE("P12: a request that waits gives its connection back when its client has gone, and is told so once") {
  WaitStage stage;
  stage.wait(seconds(10));
  CHECK(stage.gone == 0);
  stage.stream->isEnded = true;
  stage.stream->bring();
  CHECK(stage.gone == 1);
  CHECK(stage.hasClosed());
  stage.respond(true);
  CHECK(stage.gone == 1);
}

TEST_CASE(
    "P12: a client that sent its next request before it went is noticed within a second, though nothing is read") {
  WaitStage stage;
  stage.stream->bring();
  CHECK_FALSE(stage.stream->isReading());
  stage.wait(seconds(5));
  CHECK_FALSE(stage.hasClosed());
  stage.stream->isEnded = true;
  stage.wait(seconds(1));
  CHECK(stage.gone == 1);
  CHECK(stage.hasClosed());
}

TEST_CASE("A request that waits is answered, and its connection goes on; one that waits too long gets a 503") {
  WaitStage stage;
  stage.stream->bring();
  stage.wait(seconds(20));
  stage.respond(true);
  CHECK(stage.stream->written.starts_with("HTTP/1.1 200 "));
  // Its end is noticed as usual, and no watcher is called.
  stage.ask();
  stage.wait(seconds(30));
  CHECK(stage.stream->written.starts_with("HTTP/1.1 503 "));
  stage.stream->isEnded = true;
  stage.stream->bring();
  CHECK(stage.gone == 0);
}

TEST_CASE("A client that ends its half behind a request that does not wait gets its answer") {
  WaitStage stage;
  stage.respond(true);
  stage.waits = false;
  stage.ask();
  stage.stream->isEnded = true;
  stage.stream->bring();
  stage.wait(seconds(5));
  CHECK_FALSE(stage.hasClosed());
  stage.respond(true);
  CHECK(stage.stream->written.starts_with("HTTP/1.1 200 "));
}

TEST_CASE("An answer that goes on ends with its last chunk when the server stops, behind what was sent before") {
  StreamStage stage;
  stage.stream->takesAll = false;
  stage.open();
  stage.send("one");
  stage.session->stop();
  stage.run();
  CHECK(stage.ends == Ends{AnswerEnd::finished});
  stage.stream->take(stage.stream->written.size());
  CHECK(stage.stream->written == "3\r\none\r\n0\r\n\r\n");
  stage.stream->take(stage.stream->written.size());
  stage.wait(seconds(1));
  CHECK(stage.hasClosed());
}

TEST_CASE("P11: a producer that refuses or throws is answered for as any handler") {
  StreamStage refused;
  refused.status = 503;
  refused.open();
  CHECK(refused.stream->written.starts_with("HTTP/1.1 503 "));
  CHECK_FALSE(refused.stream->isClosed);
  StreamStage broken;
  broken.throwsWhenAsked = true;
  broken.open();
  CHECK(broken.stream->written.starts_with("HTTP/1.1 500 "));
}

}  // namespace
}  // namespace ackbox::transport::http_session_test
