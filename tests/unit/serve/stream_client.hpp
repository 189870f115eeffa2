#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ackbox/deferred_frame.hpp"
#include "ackbox/inbound_handler.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/random.hpp"
#include "serve/inbox/frame_streams.hpp"
#include "support/comes_to.hpp"
#include "support/manual_clock.hpp"
#include "support/temp_dir.hpp"
#include "transport/answer_stream.hpp"

namespace ackbox::testing {

/// A connection in the test's hands.
class Client final : public transport::AnswerStream {
public:
  void open(InboundResponse head, transport::AnswerWatcher itsWatcher) override {
    status = head.status;
    watcher = std::move(itsWatcher);
  }
  void send(std::string_view bytes) override {
    text += bytes;
    waiting += reads ? 0 : bytes.size();
  }
  [[nodiscard]] std::size_t unread() const noexcept override { return waiting; }
  void finish() override { isFinished = true; }
  void cut() override { isCut = true; }

  [[nodiscard]] std::size_t count(const std::string& part) const {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
      ++found;
    }
    return found;
  }

  int status = 0;
  transport::AnswerWatcher watcher;
  std::string text;
  bool reads = true;
  std::size_t waiting = 0;
  bool isFinished = false;
  bool isCut = false;
};

/// A receiver whose frames all go to streams. One that is charged more than `maxRetries` runs comes no more.
class StreamStage {
public:
  explicit StreamStage(std::uint32_t maxRetries = 0, const std::vector<std::string>& types = {"*"})
      : streams(std::make_shared<serve::FrameStreams>(context.get_executor(), clock, systemRandom(), 256,
                                                      serve::StreamedFrames{.types = types},
                                                      [this](const LogRecord& record) {
                                                        const std::scoped_lock lock(logMutex_);
                                                        log_.push_back(toKeyValue(record));
                                                      })) {
    InboundOptions options;
    options.allowAnonymous = true;
    options.deferred.retry.maxRetries = maxRetries;
    options.deferred.retry.delays = {std::chrono::milliseconds(1)};
    options.deferred.handler = [this](DeferredFrame frame) {
      streams->add(std::move(frame));
      ++added;
    };
    options.deferred.pools = {{{"*"}, 4, streams->demand()}};
    streams->watchUnwanted();
    handler_.emplace(
        manager_, [](const InboundFrame&, InboundTransaction&) { return HandlerResult::defer(); }, options);
  }
  ~StreamStage() {
    // First what streams have in hand, or the handler waits for it.
    streams->close();
    run();
    handler_.reset();
  }
  StreamStage(const StreamStage&) = delete;
  StreamStage& operator=(const StreamStage&) = delete;

  /// Each is of a sender of its own.
  void send(const std::string& id, const std::string& type = "t", const std::string& data = "1") {
    handler_->asyncHandle({.contentType = "application/cloudevents+json",
                           .body = R"({"specversion":"1.0","id":")" + id + R"(","source":"urn:)" + id +
                                   R"(","type":")" + type + R"(","data":)" + data + "}",
                           .webhookId = id},
                          [](const InboundResponse& response) { CHECK(response.status == 202); });
  }
  /// Null: it is not opened.
  std::shared_ptr<Client> open(const std::string& types = "*", const std::string& sharer = {}) {
    auto client = std::make_shared<Client>();
    serve::StreamWish wish;
    wish.types = types;
    wish.sharer = sharer;
    return streams->open(wish, client, {}) ? client : nullptr;
  }
  void run() {
    context.restart();
    context.poll();
  }
  /// Each second of it has its turn of the executor.
  void pass(std::chrono::seconds time) {
    for (std::chrono::seconds passed(0); passed < time; ++passed) {
      clock->advance(std::chrono::seconds(1));
      run();
    }
  }
  /// The records of an event in the log so far.
  std::vector<std::string> logged(const std::string& event) {
    const std::scoped_lock lock(logMutex_);
    std::vector<std::string> found;
    std::ranges::copy_if(log_, std::back_inserter(found),
                         [&](const std::string& line) { return line.find(" " + event + " ") != std::string::npos; });
    return found;
  }
  std::size_t reports() { return logged("no-stream").size(); }
  /// Without a turn of the executor.
  template <typename Condition>
  void await(const Condition& condition) {
    REQUIRE(comesTo(condition));
  }
  template <typename Condition>
  void runUntil(const Condition& condition) {
    await([&] {
      run();
      return condition();
    });
  }
  [[nodiscard]] std::string receiptOf(const Client& client) const {
    const std::string receipt = client.text.substr(client.text.find("\"receipt\":\"") + 11);
    return receipt.substr(0, receipt.find('"'));
  }
  /// Whether the receipt's frame was in hand and has ended.
  bool settle(const std::string& receipt, const HandlerResult& result = HandlerResult::ack()) {
    std::optional<bool> settled;
    streams->settle({{.receipt = receipt, .result = result}},
                    [&settled](const std::vector<bool>& answers) { settled = answers.at(0); });
    await([&] { return settled.has_value(); });
    return *settled;
  }

  /// How many frames were given to the streams.
  std::atomic<int> added = 0;
  boost::asio::io_context context;
  const std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>();
  const std::shared_ptr<serve::FrameStreams> streams;

private:
  std::mutex logMutex_;
  std::vector<std::string> log_;
  const TempDir dir_;
  OutboxManager manager_ = OutboxManager::open(dir_.file("inbox.db"));
  std::optional<InboundHandler> handler_;
};

}  // namespace ackbox::testing
