#pragma once

#include <doctest/doctest.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ackbox/inbound_options.hpp"
#include "protocol/inbound_port.hpp"
#include "protocol/wire.hpp"
#include "support/comes_to.hpp"
#include "support/manual_clock.hpp"
#include "transport/mailbox_run.hpp"
#include "unit/transport/io_thread.hpp"
#include "unit/transport/raw_peer.hpp"

namespace ackbox::testing {

/// A hub in the test's hands: it takes connections one by one.
class Hub {
public:
  Hub() : acceptor_(context_, {boost::asio::ip::address_v4::loopback(), 0}) {}

  [[nodiscard]] std::string url() const {
    return "http://127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port());
  }
  [[nodiscard]] bool isCalledWithin(std::chrono::milliseconds time) {
    pollfd waited{.fd = acceptor_.native_handle(), .events = POLLIN, .revents = 0};
    return ::poll(&waited, 1, static_cast<int>(time.count())) == 1;
  }
  RawConnection accept() {
    if (!isCalledWithin(std::chrono::seconds(10))) {
      throw std::runtime_error("nobody has connected for ten seconds");
    }
    return RawConnection::adopt(::accept(acceptor_.native_handle(), nullptr, nullptr));
  }
  /// A stream that the hub has accepted; its request, if `request` is given.
  RawConnection stream(std::string* request = nullptr) {
    RawConnection connection = accept();
    const std::string head = connection.receiveUntil("\r\n\r\n");
    if (request != nullptr) {
      *request = head;
    }
    connection.send("HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\n\r\n\n");
    return connection;
  }

private:
  boost::asio::io_context context_;
  boost::asio::ip::tcp::acceptor acceptor_;
};

/// `s-7`, the seventh frame of a session, with a receipt of its own.
inline std::string eventOf(const std::string& id) {
  return R"({"specversion":"1.0","id":")" + id +
         R"(","source":"urn:agent:alice","type":"order","audience":"urn:agent:carol","data":{"a":[1, 2]}})";
}
inline std::string lineOf(const std::string& id, const std::string& receipt) {
  return R"({"receipt":")" + receipt + R"(","run":1,"event":)" + eventOf(id) + "}\n";
}

inline std::string answerOf(int status, const std::string& body, const std::string& type = "application/json") {
  return "HTTP/1.1 " + std::to_string(status) + " Said\r\nContent-Type: " + type +
         "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

/// Takes a request that settles, and says that all its receipts were settled. Returns its body.
inline std::string settled(RawConnection& connection, const std::vector<std::string>& receipts) {
  const std::string request = connection.receiveMessage();
  std::string results;
  for (const std::string& receipt : receipts) {
    results += (results.empty() ? "" : ",") + (R"({"receipt":")" + receipt + R"(","status":"settled"})");
  }
  connection.send(answerOf(200, R"({"results":[)" + results + "]}"));
  return request.substr(request.find("\r\n\r\n") + 4);
}

/// A handler whose answers the test gives.
class ScriptedHandler final : public protocol::InboundPort {
public:
  struct Call {
    InboundRequest request;
    std::function<void(InboundResponse)> respond;
    SteadyTime at;

    void answer(FrameResult result) const {
      const std::array<std::string_view, 1> ids = {request.webhookId};
      respond(protocol::encodeAck(request, false, "store", ids, {&result, 1}, {}, InboundOptions()));
    }
    void answer(Outcome outcome) const {
      FrameResult result;
      result.outcome = outcome;
      answer(std::move(result));
    }
  };

  explicit ScriptedHandler(std::shared_ptr<Clock> clock) : clock_(std::move(clock)) {}

  void handle(InboundRequest request, std::function<void(InboundResponse)> respond, protocol::HandlerThread /*thread*/,
              protocol::RequestForm /*form*/) override {
    const std::scoped_lock lock(mutex_);
    calls_.push_back({std::move(request), std::move(respond), clock_->steadyNow()});
    news_.notify_all();
  }
  [[nodiscard]] std::size_t bodyBytesMax() const noexcept override { return 4096; }
  [[nodiscard]] std::size_t bodyBytesWorthReading(const InboundRequest& /*head*/) const override { return 4096; }
  void usesCertificate(const std::filesystem::path& /*file*/) const override {}
  void reportException(const std::string& /*what*/) noexcept override {}

  [[nodiscard]] std::size_t waiting() {
    const std::scoped_lock lock(mutex_);
    return calls_.size();
  }
  Call take() {
    std::unique_lock lock(mutex_);
    if (!news_.wait_for(lock, std::chrono::seconds(10), [this] { return !calls_.empty(); })) {
      throw std::runtime_error("the handler was not asked within ten seconds");
    }
    Call call = std::move(calls_.front());
    calls_.pop_front();
    return call;
  }

private:
  const std::shared_ptr<Clock> clock_;
  std::mutex mutex_;
  std::condition_variable news_;
  // Guarded by mutex_.
  std::deque<Call> calls_;
};

/// Largest numbers first: each pause is half of what it can be.
class ConstantRandom final : public Random {
public:
  [[nodiscard]] std::uint64_t next() override { return 0; }
};

/// A fetcher of carol between a hub and a handler, on a clock that the test moves.
struct MailboxStage {
  explicit MailboxStage(std::uint32_t window = 64) {
    options.url = hub.url();
    options.agent = "urn:agent:carol";
    options.window = window;
    options.clock = clock;
    options.random = std::make_shared<ConstantRandom>();
    options.onState = [this](const MailboxStatus& status) {
      const std::scoped_lock lock(mutex);
      states.push_back(std::string(toString(status.state)) + (status.what.empty() ? "" : ": ") + status.what);
    };
    options.onRefused = [this](std::string_view source, std::string_view id, std::string_view what) {
      const std::scoped_lock lock(mutex);
      refusals.push_back(std::string(source) + " " + std::string(id) + " " + std::string(what));
    };
  }
  ~MailboxStage() { stop(); }

  void start() {
    auto plan = std::make_shared<transport::MailboxPlan>();
    HttpSenderOptions http;
    http.clock = clock;
    plan->http = std::make_shared<const HttpSenderOptions>(http);
    plan->hub = transport::parseUrl(hub.url()).url.value();
    plan->hub.target.clear();
    if (options.token) {
      plan->token =
          std::make_shared<protocol::HeaderCache>(SecretSource::bearer(options.token), clock, std::chrono::minutes(10));
    }
    plan->handler = handler;
    plan->lineBytesMax = handler->bodyBytesMax();
    plan->board = board;
    plan->options = options;
    run = std::make_shared<transport::MailboxRun>(io.executor(), plan);
    run->start();
  }
  void stop() {
    if (run) {
      run->stop();
      run = nullptr;
    }
  }
  std::string lastState() {
    const std::scoped_lock lock(mutex);
    return states.empty() ? std::string() : states.back();
  }
  bool becomes(const std::string& state) {
    return comesTo([&] { return lastState() == state; });
  }
  /// Moves time, a step at a time, until `condition` holds.
  template <typename Condition>
  bool passesUntil(const Condition& condition, std::chrono::milliseconds step = std::chrono::milliseconds(5)) {
    return comesTo([&] {
      if (condition()) {
        return true;
      }
      clock->advanceInStep(step);
      return false;
    });
  }
  std::size_t refusalCount() {
    const std::scoped_lock lock(mutex);
    return refusals.size();
  }

  const std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>();
  Hub hub;
  const std::shared_ptr<ScriptedHandler> handler = std::make_shared<ScriptedHandler>(clock);
  const std::shared_ptr<transport::MailboxBoard> board = std::make_shared<transport::MailboxBoard>();
  MailboxFetcherOptions options;
  std::mutex mutex;
  // Guarded by mutex.
  std::vector<std::string> states;
  std::vector<std::string> refusals;
  IoThread io;
  std::shared_ptr<transport::MailboxRun> run;
};

}  // namespace ackbox::testing
