#include "ackbox/testing/handler_trial.hpp"

#include <SQLiteCpp/SQLiteCpp.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <deque>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "ackbox/deferred_frame.hpp"
#include "ackbox/inbound_handler.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/testing/virtual_clock.hpp"
#include "protocol/wire.hpp"
#include "testing/temporary_folder.hpp"

namespace ackbox::testing {
namespace {

/// The handler's transaction, which records enqueued frames.
class NotingTransaction final : public InboundTransaction {
public:
  NotingTransaction(InboundTransaction& inner, std::vector<Frame>& enqueued) : inner_(inner), enqueued_(enqueued) {}

  [[nodiscard]] SQLite::Database& database() override { return inner_.database(); }

  EnqueueReceipt enqueue(const Frame& frame) override {
    EnqueueReceipt receipt = inner_.enqueue(frame);
    if (receipt.isNew()) {
      enqueued_.push_back(frame);
      enqueued_.back().id = receipt.messageId;
    }
    return receipt;
  }

  PublishReceipt publish(const Frame& frame) override {
    PublishReceipt receipt = inner_.publish(frame);
    if (receipt.status == PublishStatus::noSubscriber) {
      enqueued_.push_back(frame);
      enqueued_.back().peer = kAllSubscribers;
    }
    return receipt;
  }

private:
  InboundTransaction& inner_;
  std::vector<Frame>& enqueued_;
};

std::string quoted(const std::string& name) {
  std::string text = "\"";
  for (const char character : name) {
    text.append(character == '"' ? 2 : 1, character);
  }
  return text + "\"";
}

/// Every row of the application's tables, as text, sorted.
std::vector<std::string> rowsOf(SQLite::Database& database) {
  std::vector<std::string> rows;
  SQLite::Statement tables(database,
                           "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'ackbox\\_%' ESCAPE"
                           " '\\' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'");
  while (tables.executeStep()) {
    const std::string table = tables.getColumn(0);
    SQLite::Statement row(database, "SELECT * FROM " + quoted(table));
    while (row.executeStep()) {
      std::string text = table + ":";
      for (int column = 0; column < row.getColumnCount(); ++column) {
        const SQLite::Column value = row.getColumn(column);
        text += (column == 0 ? " " : ", ") + std::string(value.getName()) + "=" +
                (value.isNull() ? "NULL" : value.getString());
      }
      rows.push_back(std::move(text));
    }
  }
  std::ranges::sort(rows);
  return rows;
}

void addDifference(const std::vector<std::string>& from, const std::vector<std::string>& other, const std::string& mark,
                   std::vector<std::string>& to) {
  std::vector<std::string> only;
  std::ranges::set_difference(from, other, std::back_inserter(only));
  for (const std::string& row : only) {
    to.push_back(mark + row);
  }
}

}  // namespace

class HandlerTrial::Impl {
public:
  explicit Impl(const HandlerTrialOptions& options)
      : agent_(options.agent),
        database_((folder_.path() / "agent.db").string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE) {
    database_.exec(options.schema);
    OutboxOptions outbox;
    outbox.agent = options.agent;
    for (const std::string& peer : options.peers) {
      outbox.peers.push_back({.name = peer, .url = "sim://" + peer, .agent = "urn:agent:" + peer});
    }
    outbox.clock = clock_;
    outbox.random = seededRandom(1);
    outbox.log = [](const LogRecord&) {};
    outbox.storeExecutor = [work = work_](std::function<void()> one) { work->push_back(std::move(one)); };
    outbox_.emplace(OutboxManager::open(folder_.path() / "agent.db", std::move(outbox)));
    InboundOptions inbound;
    inbound.allowAnonymous = true;
    // Never called, but it allows frames to be deferred.
    inbound.deferred.handler = [](const DeferredFrame&) {};
    inbound.deferred.executor = std::make_shared<boost::asio::any_io_executor>(io_.get_executor());
    inbound.onHandlerError = [this](const InboundFrame&, std::string_view what) { result_.thrown = what; };
    inbound_.emplace(
        *outbox_,
        [this](const InboundFrame& frame, InboundTransaction& transaction) { return call(frame, transaction); },
        inbound);
  }

  HandlerTrialResult run(const FrameHandler& handler, InboundFrame frame) {
    complete(frame);
    result_ = {};
    handler_ = &handler;
    const std::vector<std::string> before = rowsOf(database_);
    send(frame);
    if (result_.wasCalled && !result_.thrown.empty()) {
      result_.result = HandlerResult::notNow("the handler failed");
      result_.result.code = "handler-error";
    }
    if (result_.answer.outcome != Outcome::ack) {
      result_.enqueued.clear();
    }
    const std::vector<std::string> after = rowsOf(database_);
    addDifference(before, after, "- ", result_.written);
    addDifference(after, before, "+ ", result_.written);
    return result_;
  }

  [[nodiscard]] SQLite::Database& database() { return database_; }

private:
  void complete(InboundFrame& frame) {
    ++frames_;
    const auto fill = [](std::string& member, std::string value) {
      if (member.empty()) {
        member = std::move(value);
      }
    };
    fill(frame.id, "frame-" + std::to_string(frames_));
    fill(frame.source, "urn:agent:alice");
    fill(frame.type, "test.frame");
    if (!frame.session.empty()) {
      fill(frame.origin, "0000000000000000000000000000a11c");
      std::uint64_t& last = sequences_[{frame.source, frame.session}];
      if (frame.sequence == 0) {
        frame.previousSequence = last;
        frame.sequence = last + 1;
      }
      last = std::max(last, frame.sequence);
    }
  }

  void send(const InboundFrame& frame) {
    OutboundFrame out;
    out.messageId = frame.id;
    out.session = frame.session;
    out.type = frame.type;
    out.data = frame.data.empty() ? "null" : frame.data;
    out.sequence = frame.sequence;
    out.previousSequence = frame.previousSequence;
    out.enqueuedAt = frame.time.value_or(clock_->wallNow());
    out.expiresAt = frame.expiresAt;
    out.traceparent = frame.traceparent;
    out.correlationId = frame.correlationId;
    out.resentOf = frame.resentOf;
    SendRequest request;
    request.agent = frame.source;
    request.peerAgent = frame.audience.empty() ? agent_ : frame.audience;
    request.origin = frame.origin;
    request.epoch = std::max<std::uint64_t>(frame.epoch, 1);
    request.frames.push_back(std::move(out));
    protocol::EncodedRequest encoded = protocol::encodeRequest(request, "trial");
    InboundRequest inbound;
    inbound.contentType = std::move(encoded.contentType);
    inbound.body = std::move(encoded.body);
    inbound.webhookId = encoded.webhookId;
    inbound_->asyncHandle(std::move(inbound), [&](const InboundResponse& answer) {
      const SendReport report =
          protocol::readAnswer(request, encoded.webhookId, answer.status, answer.contentType, "", answer.body);
      if (report.results.empty()) {
        // The request was refused as a whole, so there is no result of the frame.
        result_.answer.detail = report.error.empty() ? answer.body : report.error;
      } else {
        result_.answer = report.results.front();
      }
    });
    while (!work_->empty()) {
      const std::function<void()> work = std::move(work_->front());
      work_->pop_front();
      work();
    }
  }

  HandlerResult call(const InboundFrame& frame, InboundTransaction& transaction) {
    result_.wasCalled = true;
    result_.enqueued.clear();
    NotingTransaction noting(transaction, result_.enqueued);
    result_.result = (*handler_)(frame, noting);
    return result_.result;
  }

  const std::string agent_;
  const TemporaryFolder folder_;
  const std::shared_ptr<VirtualClock> clock_ = std::make_shared<VirtualClock>();
  const std::shared_ptr<std::deque<std::function<void()>>> work_ =
      std::make_shared<std::deque<std::function<void()>>>();
  boost::asio::io_context io_;
  SQLite::Database database_;
  std::optional<OutboxManager> outbox_;
  std::optional<InboundHandler> inbound_;
  const FrameHandler* handler_ = nullptr;
  HandlerTrialResult result_;
  std::uint64_t frames_ = 0;
  std::map<std::pair<std::string, std::string>, std::uint64_t> sequences_;
};

HandlerTrial::HandlerTrial(const HandlerTrialOptions& options) : impl_(std::make_unique<Impl>(options)) {}
HandlerTrial::~HandlerTrial() = default;

HandlerTrialResult HandlerTrial::run(const FrameHandler& handler, InboundFrame frame) {
  return impl_->run(handler, std::move(frame));
}

SQLite::Database& HandlerTrial::database() {
  return impl_->database();
}

}  // namespace ackbox::testing
