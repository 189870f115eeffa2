// Goal: a program's trace hooks see each enqueue, request and handling begin and end once, with what makes the spans of
// one message one trace, without its data; and they harm nothing. Method: two agents over loopback with hooks that
// write down what they are called with, and hooks that throw.

#include "ackbox/trace_hooks.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "ackbox/deferred_frame.hpp"
#include "ackbox/error.hpp"
#include "ackbox/http_sender.hpp"
#include "ackbox/inbound_handler.hpp"
#include "ackbox/inbound_server.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_writer.hpp"
#include "support/reserved_port.hpp"
#include "support/scripted_sender.hpp"
#include "support/temp_dir.hpp"

namespace ackbox::trace_hooks_test {
namespace {

using testing::ScriptedSender;
using testing::TempDir;

constexpr const char* kOwn = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// A span as a tracing system would have it.
struct Recorded {
  int number = 0;
  std::string kind;
  /// Where it hangs: a `traceparent`.
  std::string parent;
  std::string traceparent;
  std::vector<std::string> links;
  std::string id;
  std::string attributes;
  std::string end;
};

/// Makes spans of what it is called with, in their order.
///
/// Thread-safety: all members may be called from any thread.
class Recorder final : public TraceHooks {
public:
  TraceHooks::Span enqueueBegan(const TracedMessage& message, std::string& traceparent) override {
    const std::scoped_lock lock(mutex_);
    Recorded& made = add("enqueue");
    made.parent = traceparent;
    made.attributes = textOf(message);
    made.traceparent = traceparent = next();
    return handle();
  }
  void enqueueEnded(const TraceHooks::Span& span, const std::error_code& error,
                    const EnqueueReceipt& receipt) override {
    end(span, error ? error.message() : std::string(toString(receipt.status)), receipt.messageId);
  }
  TraceHooks::Span requestBegan(const TracedRequest& request, std::string& traceparent) override {
    const std::scoped_lock lock(mutex_);
    Recorded& made = add("request");
    CHECK(traceparent.empty());
    made.traceparent = traceparent = next();
    made.attributes = request.peer;
    for (const TracedMessage& message : request.messages) {
      made.links.emplace_back(message.traceparent);
      made.attributes += " " + textOf(message);
    }
    return handle();
  }
  void requestEnded(const TraceHooks::Span& span, const TracedAnswer& answer) override {
    std::string text = std::string(toString(answer.outcome)) + " " + std::to_string(answer.status);
    for (const Outcome outcome : answer.outcomes) {
      text += " " + std::string(toString(outcome));
    }
    end(span, text, {});
  }
  TraceHooks::Span handlingBegan(const TracedHandling& handling) override {
    const std::scoped_lock lock(mutex_);
    Recorded& made = add(handling.isDeferred ? "deferred" : "handling");
    made.parent = handling.message.traceparent;
    made.links.emplace_back(handling.hopTraceparent);
    made.attributes = textOf(handling.message);
    made.id = handling.message.id;
    return handle();
  }
  void handlingEnded(const TraceHooks::Span& span, const TracedDecision& decision) override {
    end(span,
        std::string(toString(decision.outcome)) + " " + std::string(decision.code) + " " + std::string(decision.error),
        {});
  }

  /// Those of one kind that have ended, in the order in which they began.
  [[nodiscard]] std::vector<Recorded> of(const std::string& kind) {
    const std::scoped_lock lock(mutex_);
    std::vector<Recorded> found;
    std::ranges::copy_if(spans_, std::back_inserter(found),
                         [&](const Recorded& span) { return span.kind == kind && !span.end.empty(); });
    return found;
  }
  /// Until so many of them have ended.
  std::vector<Recorded> await(const std::string& kind, std::size_t count) {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [&] {
      return static_cast<std::size_t>(std::ranges::count_if(
                 spans_, [&](const Recorded& span) { return span.kind == kind && !span.end.empty(); })) >= count;
    });
    lock.unlock();
    return of(kind);
  }
  [[nodiscard]] std::size_t begun() {
    const std::scoped_lock lock(mutex_);
    return spans_.size();
  }

private:
  static std::string textOf(const TracedMessage& message) {
    return std::string(message.peer) + "/" + std::string(message.session) + "/" + std::string(message.type) + "/" +
           std::to_string(message.dataBytes);
  }
  Recorded& add(const std::string& kind) {
    Recorded& made = spans_.emplace_back();
    made.number = static_cast<int>(spans_.size());
    made.kind = kind;
    return made;
  }
  [[nodiscard]] std::string next() const {
    std::string number = std::to_string(spans_.size());
    number.insert(0, 16 - number.size(), '0');
    return "00-4bf92f3577b34da6a3ce929d0e0e4736-" + number + "-01";
  }
  [[nodiscard]] TraceHooks::Span handle() const { return std::make_shared<int>(spans_.back().number); }
  void end(const TraceHooks::Span& span, const std::string& how, const std::string& id) {
    {
      const std::scoped_lock lock(mutex_);
      Recorded& ended = spans_.at(static_cast<std::size_t>(*std::static_pointer_cast<int>(span)) - 1);
      CHECK_MESSAGE(ended.end.empty(), ended.kind << " ends twice");
      ended.end = how;
      if (!id.empty()) {
        ended.id = id;
      }
    }
    ended_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable ended_;
  // Guarded by mutex_.
  std::vector<Recorded> spans_;
};

/// Throws wherever it is called.
class Throwing final : public TraceHooks {
public:
  TraceHooks::Span enqueueBegan(const TracedMessage&, std::string& traceparent) override {
    traceparent = kOwn;
    throw std::runtime_error("at enqueueBegan");
  }
  void enqueueEnded(const TraceHooks::Span&, const std::error_code&, const EnqueueReceipt&) override {
    throw std::runtime_error("at enqueueEnded");
  }
  TraceHooks::Span requestBegan(const TracedRequest&, std::string&) override {
    throw std::runtime_error("at requestBegan");
  }
  void requestEnded(const TraceHooks::Span&, const TracedAnswer&) override { throw 1; }
  TraceHooks::Span handlingBegan(const TracedHandling&) override { throw std::runtime_error("at handlingBegan"); }
  void handlingEnded(const TraceHooks::Span&, const TracedDecision&) override {
    throw std::runtime_error("at handlingEnded");
  }
};

/// A receiver on loopback, and a sender beside it.
struct Agents {
  Agents(const std::shared_ptr<TraceHooks>& ofAlice, const std::shared_ptr<TraceHooks>& ofBob, FrameHandler handler,
         DeferredHandler deferred = {}, const LogSink& log = {})
      : bob(OutboxManager::open(dir.file("bob.db"), optionsOf("bob", ofBob, {}, log))) {
    InboundOptions inbound;
    inbound.allowAnonymous = true;
    inbound.trace = ofBob;
    inbound.deferred.handler = std::move(deferred);
    inbound.deferred.concurrency = 1;
    inbound.deferred.retry.backoff = Backoff::fixed;
    inbound.deferred.retry.base = std::chrono::milliseconds(1);
    inbox.emplace(bob, std::move(handler), std::move(inbound));
    server.emplace(*inbox);
    alice.emplace(OutboxManager::open(
        dir.file("alice.db"), optionsOf("alice", ofAlice, {PeerOptions{.name = "bob", .url = server->url()}}, log)));
    alice->setSender(std::make_shared<HttpSender>());
  }

  static OutboxOptions optionsOf(const std::string& name, const std::shared_ptr<TraceHooks>& trace,
                                 std::vector<PeerOptions> peers, const LogSink& log) {
    OutboxOptions options;
    options.agent = "urn:agent:" + name;
    options.peers = std::move(peers);
    options.trace = trace;
    options.log = log;
    return options;
  }

  TempDir dir;
  OutboxManager bob;
  std::optional<InboundHandler> inbox;
  std::optional<InboundServer> server;
  std::optional<OutboxManager> alice;
};

Frame question(const std::string& data, std::string traceparent = {}) {
  Frame frame;
  frame.peer = "bob";
  frame.session = "s";
  frame.type = "question";
  frame.data = data;
  frame.traceparent = std::move(traceparent);
  return frame;
}

TEST_CASE("enqueue, request and handling of a message are one trace: parents, links, header and outcomes") {
  const auto ofAlice = std::make_shared<Recorder>();
  const auto ofBob = std::make_shared<Recorder>();
  Agents agents(ofAlice, ofBob, [](const InboundFrame& frame, InboundTransaction& transaction) {
    if (frame.data == "2") {
      Frame reply;
      reply.session = "replies";
      reply.type = "answer";
      transaction.enqueue(reply);
    }
    return frame.data == "3" ? HandlerResult::reject("not this one") : HandlerResult::ack();
  });
  const std::vector<Frame> frames = {question("1", kOwn), question("2"), question("3")};
  const std::vector<EnqueueReceipt> receipts = agents.alice->enqueueBatch(frames);
  agents.alice->processAll();

  const std::vector<Recorded> enqueues = ofAlice->of("enqueue");
  REQUIRE(enqueues.size() == 3);
  CHECK(enqueues[0].parent == kOwn);
  CHECK(enqueues[1].parent.empty());
  for (std::size_t index = 0; index < 3; ++index) {
    CHECK(enqueues[index].attributes == "bob/s/question/1");
    CHECK(enqueues[index].end == "stored");
    CHECK(enqueues[index].id == receipts[index].messageId);
  }

  const std::vector<Recorded> requests = ofAlice->of("request");
  REQUIRE(requests.size() >= 2);
  std::map<std::string, std::string> carrier;
  std::string outcomes;
  for (const Recorded& request : requests) {
    CHECK(request.end.starts_with("answered 200 "));
    outcomes += request.end.substr(std::string("answered 200").size());
    for (const std::string& link : request.links) {
      carrier[link] = request.traceparent;
    }
  }
  CHECK(outcomes == " ack ack term");
  // A peer that has granted credit takes the others in one request, which has a link to each.
  CHECK(requests.back().links == std::vector{enqueues[1].traceparent, enqueues[2].traceparent});

  const std::vector<Recorded> handlings = ofBob->of("handling");
  REQUIRE(handlings.size() == 3);
  for (std::size_t index = 0; index < 3; ++index) {
    CHECK(handlings[index].id == receipts[index].messageId);
    CHECK(handlings[index].attributes == "urn:agent:alice/s/question/1");
    CHECK(handlings[index].parent == enqueues[index].traceparent);
    CHECK(handlings[index].links == std::vector{carrier.at(enqueues[index].traceparent)});
  }
  CHECK(handlings[1].end == "ack  ");
  CHECK(handlings[2].end == "term rejected not this one");
  // The reply is enqueued within the handling.
  const std::vector<Recorded> replies = ofBob->of("enqueue");
  REQUIRE(replies.size() == 1);
  CHECK(replies[0].number == handlings[1].number + 1);
  CHECK(replies[0].attributes == "default/replies/answer/0");
}

TEST_CASE("each way to enqueue is traced, with its receipt or its error, and only a traceparent is taken for one") {
  const TempDir dir;
  const auto recorder = std::make_shared<Recorder>();
  OutboxOptions options;
  options.trace = recorder;
  options.maxPending = 2;
  OutboxManager manager = OutboxManager::open(dir.file("a.db"), options);
  Frame frame;
  frame.type = "t";
  manager.enqueueThen(frame, [](std::error_code, const EnqueueReceipt&) {});
  CHECK(recorder->await("enqueue", 1)[0].end == "stored");
  {
    SQLite::Database connection(dir.file("a.db").string(), SQLite::OPEN_READWRITE);
    OutboxWriter writer(manager, connection);
    SQLite::Transaction transaction(connection);
    writer.enqueue(frame);
    transaction.commit();
  }
  CHECK(recorder->of("enqueue").at(1).end == "stored");
  manager.enqueue(frame);
  CHECK(recorder->of("enqueue").at(2).end == toString(EnqueueStatus::queueFull));
  manager.enqueueThen(frame, WhenFull::wait, [](std::error_code, const EnqueueReceipt&) {});
  manager.stop();
  CHECK(recorder->await("enqueue", 4)[3].end == make_error_code(Errc::stopped).message());
  frame.type.clear();
  manager.enqueueThen(frame, [](std::error_code, const EnqueueReceipt&) {});
  CHECK(recorder->of("enqueue").at(4).end == toString(EnqueueStatus::invalidFrame));

  class Garbling final : public TraceHooks {
    TraceHooks::Span enqueueBegan(const TracedMessage&, std::string& traceparent) override {
      traceparent = "no\r\ntraceparent";
      return {};
    }
    TraceHooks::Span requestBegan(const TracedRequest&, std::string& traceparent) override {
      traceparent = "no\r\ntraceparent";
      return {};
    }
  };
  options.trace = std::make_shared<Garbling>();
  OutboxManager other = OutboxManager::open(dir.file("b.db"), options);
  const auto sender = std::make_shared<ScriptedSender>([](const SendRequest& request) {
    CHECK(request.traceparent.empty());
    return ScriptedSender::all(request, Outcome::ack);
  });
  other.setSender(sender);
  Frame own = question("1", kOwn);
  own.peer = "default";
  CHECK((other.enqueue(own).status == EnqueueStatus::stored));
  other.processAll();
  REQUIRE(sender->frames().size() == 1);
  CHECK(sender->frames()[0].traceparent == kOwn);
}

TEST_CASE("a request that finds nobody ends without a status") {
  const TempDir dir;
  const testing::ReservedPort port;
  const auto recorder = std::make_shared<Recorder>();
  OutboxManager manager = OutboxManager::open(
      dir.file("a.db"),
      Agents::optionsOf("alice", recorder, {PeerOptions{.name = "bob", .url = port.url()}}, [](const LogRecord&) {}));
  manager.setSender(std::make_shared<HttpSender>());
  manager.enqueue(question("1"));
  manager.drainOnce();
  REQUIRE(recorder->of("request").size() == 1);
  CHECK(recorder->of("request")[0].end == std::string(toString(RequestOutcome::peerUnavailable)) + " 0");
}

TEST_CASE("a deferred frame is handled where it began, once for each run, until its end is committed") {
  const auto ofAlice = std::make_shared<Recorder>();
  const auto ofBob = std::make_shared<Recorder>();
  int runs = 0;
  Agents agents(
      ofAlice, ofBob, [](const InboundFrame&, InboundTransaction&) { return HandlerResult::defer(); },
      [&runs](DeferredFrame frame) {
        if (++runs == 1) {
          throw std::runtime_error("first run");
        }
        frame.finish(HandlerResult::ack());
      });
  agents.alice->enqueue(question("1", kOwn));
  agents.alice->processAll();
  const std::vector<Recorded> deferred = ofBob->await("deferred", 2);
  CHECK(deferred[0].end == "nack handler-error first run");
  CHECK(deferred[1].end == "ack  ");
  for (const Recorded& run : deferred) {
    CHECK(run.parent == ofAlice->of("enqueue").at(0).traceparent);
    CHECK(run.links == std::vector<std::string>{""});
  }
  REQUIRE(ofBob->of("handling").size() == 1);
  CHECK(ofBob->of("handling")[0].end == "defer  ");
  CHECK(ofAlice->of("request").at(0).end == "answered 202 defer");
}

TEST_CASE("what a handler throws ends its handling, and is what it would be without hooks") {
  const auto recorder = std::make_shared<Recorder>();
  Agents agents(nullptr, recorder,
                [](const InboundFrame&, InboundTransaction&) -> HandlerResult { throw std::runtime_error("mine"); });
  agents.alice->enqueue(question("1"));
  agents.alice->drainOnce();
  REQUIRE(recorder->of("handling").size() == 1);
  CHECK(recorder->of("handling")[0].end == "nack handler-error mine");
  CHECK(agents.alice->getStats().totalRetries == 1);
}

TEST_CASE("what hooks throw reaches the log and nothing else") {
  std::mutex mutex;
  std::vector<std::string> threw;
  const LogSink sink = [&](const LogRecord& record) {
    const std::scoped_lock lock(mutex);
    if (record.event == "callback-threw") {
      threw.emplace_back(record.text);
    }
  };
  const auto throwing = std::make_shared<Throwing>();
  {
    Agents agents(
        throwing, throwing, [](const InboundFrame&, InboundTransaction&) { return HandlerResult::ack(); }, {}, sink);
    CHECK((agents.alice->enqueue(question("1")).status == EnqueueStatus::stored));
    agents.alice->processAll();
    CHECK(agents.alice->getStats().acked == 1);
    CHECK(agents.bob.getStats().duplicates == 0);
  }
  const std::scoped_lock lock(mutex);
  REQUIRE(threw.size() == 6);
  for (const char* hook :
       {"enqueueBegan", "enqueueEnded", "requestBegan", "requestEnded", "handlingBegan", "handlingEnded"}) {
    CHECK(std::ranges::count_if(threw, [&](const std::string& text) {
            return text.find(std::string("TraceHooks::") + hook + " threw") != std::string::npos;
          }) == 1);
  }
}

}  // namespace
}  // namespace ackbox::trace_hooks_test
