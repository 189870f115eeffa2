// One of several processes that share one outbox:
//
//   shared_agent LIFE DATABASE LEDGER MESSAGES pull|push|hold
//
// Enqueues MESSAGES messages in fifty sessions, each slice in one transaction with the number reached, and delivers the
// messages that it gets into the ledger: by claims (pull) or by a run with a sender (push). `hold` claims as many as it
// can, prints "held COUNT" and stops itself; when continued, it settles and prints "settled COUNT late COUNT". LIFE is
// the worker's name, a dot, and the number of its life. Prints "ready"; SIGTERM ends it.

#include <SQLiteCpp/SQLiteCpp.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_writer.hpp"
#include "ackbox/pull.hpp"
#include "shared_ledger.hpp"

namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t kSessions = 50;
constexpr int kBusyTimeoutMilliseconds = 20'000;

struct Settings {
  std::string life;
  std::filesystem::path database;
  std::filesystem::path ledger;
  std::int64_t messages = 0;
  std::string mode;

  [[nodiscard]] std::string worker() const { return life.substr(0, life.find('.')); }
};

// Enqueues on a separate connection: the number reached commits with the frames (P2), so that a kill neither loses nor
// repeats a frame.
class Feeder {
public:
  Feeder(ackbox::OutboxManager& manager, const Settings& settings)
      : worker_(settings.worker()),
        messages_(settings.messages),
        connection_(settings.database.string(), SQLite::OPEN_READWRITE, kBusyTimeoutMilliseconds),
        writer_(manager, connection_) {}

  // Returns whether there is more to feed.
  bool feed() {
    SQLite::Transaction transaction(connection_, SQLite::TransactionBehavior::IMMEDIATE);
    SQLite::Statement select(connection_, "SELECT reached FROM fed WHERE worker=?1");
    select.bind(1, worker_);
    select.executeStep();
    std::int64_t reached = select.getColumn(0).getInt64();
    for (std::int64_t count = 0; count < kSlice && reached < messages_; ++count) {
      ackbox::Frame frame;
      frame.session = "session-" + std::to_string(static_cast<std::uint64_t>(reached) % kSessions);
      frame.type = "com.example.fed";
      frame.data = std::to_string(++reached);
      frame.id = worker_ + "-" + std::to_string(reached);
      if (!writer_.enqueue(frame).isNew()) {
        throw std::runtime_error("a fresh frame was refused");
      }
    }
    SQLite::Statement update(connection_, "UPDATE fed SET reached=?2 WHERE worker=?1");
    update.bind(1, worker_);
    update.bind(2, reached);
    update.exec();
    transaction.commit();
    return reached < messages_;
  }

private:
  static constexpr std::int64_t kSlice = 50;

  const std::string worker_;
  const std::int64_t messages_;
  SQLite::Database connection_;
  ackbox::OutboxWriter writer_;
};

std::vector<ackbox::ClaimResult> deliver(const std::vector<ackbox::Claim>& claims, const crash::SharedLedger& ledger,
                                         const std::string& life) {
  std::vector<ackbox::ClaimResult> results;
  for (const ackbox::Claim& claim : claims) {
    ledger.begin(life, claim.frame.session, claim.frame.sequence);
    results.push_back({claim.token, {}});
    results.back().result.outcome = ackbox::Outcome::ack;
  }
  for (const ackbox::Claim& claim : claims) {
    ledger.end(life, claim.frame.session, claim.frame.sequence);
  }
  return results;
}

// Settles, and returns how many settles were applied.
std::size_t settle(ackbox::OutboxManager& manager, const std::vector<ackbox::Claim>& claims,
                   const crash::SharedLedger& ledger, const std::string& life) {
  const std::vector<ackbox::SettleStatus> statuses =
      ackbox::PullConsumer(manager).settleAll(deliver(claims, ledger, life));
  std::size_t applied = 0;
  for (std::size_t index = 0; index < statuses.size(); ++index) {
    const std::string& message = claims[index].frame.messageId;
    if (statuses[index] == ackbox::SettleStatus::settled) {
      ledger.settled(life, message);
      ++applied;
    } else {
      ledger.late(life, message);
    }
  }
  return applied;
}

class LedgerSender final : public ackbox::Sender {
public:
  LedgerSender(const crash::SharedLedger& ledger, std::string life) : ledger_(ledger), life_(std::move(life)) {}

  void asyncSend(ackbox::SendRequest request, ackbox::SendHandler handler) override {
    ackbox::SendReport report;
    report.outcome = ackbox::RequestOutcome::answered;
    report.results.resize(request.frames.size());
    for (ackbox::FrameResult& result : report.results) {
      result.outcome = ackbox::Outcome::ack;
    }
    for (const ackbox::OutboundFrame& frame : request.frames) {
      ledger_.begin(life_, frame.session, frame.sequence);
    }
    for (const ackbox::OutboundFrame& frame : request.frames) {
      ledger_.end(life_, frame.session, frame.sequence);
    }
    handler(std::move(report));
  }

private:
  const crash::SharedLedger& ledger_;
  const std::string life_;
};

// Claims, delivers and settles a few sessions at a time, so that the other processes find work.
class Puller {
public:
  Puller(ackbox::OutboxManager& manager, const crash::SharedLedger& ledger, std::string life)
      : manager_(manager), ledger_(ledger), life_(std::move(life)) {}

  // Returns whether there was any work.
  bool pull() {
    const std::vector<ackbox::Claim> claims = ackbox::PullConsumer(manager_).claim(kClaims);
    if (!claims.empty()) {
      settle(manager_, claims, ledger_, life_);
    }
    return !claims.empty();
  }

private:
  static constexpr std::size_t kClaims = 16;

  ackbox::OutboxManager& manager_;
  const crash::SharedLedger& ledger_;
  const std::string life_;
};

void hold(ackbox::OutboxManager& manager, const Settings& settings, const crash::SharedLedger& ledger) {
  constexpr std::size_t kHeld = 5;
  std::cout << "ready" << std::endl;
  const std::vector<ackbox::Claim> claims = ackbox::PullConsumer(manager).claim(kHeld);
  std::cout << "held " << claims.size() << std::endl;
  raise(SIGSTOP);
  const std::size_t applied = settle(manager, claims, ledger, settings.life);
  std::cout << "settled " << applied << " late " << claims.size() - applied << std::endl;
}

void work(ackbox::OutboxManager& manager, const Settings& settings, const crash::SharedLedger& ledger) {
  boost::asio::io_context context(1);
  const bool pushes = settings.mode == "push";
  ackbox::Subscription acked;
  if (pushes) {
    acked = manager.onAcked([&](const ackbox::AckedEvent& event) { ledger.settled(settings.life, event.messageId); });
    manager.setSender(std::make_shared<LedgerSender>(ledger, settings.life));
    manager.start();
  }
  Puller puller(manager, ledger, settings.life);
  Feeder feeder(manager, settings);
  bool feeds = settings.messages > 0;
  boost::asio::steady_timer timer(context);
  std::function<void()> turn = [&] {
    bool busy = feeds;
    feeds = feeds && feeder.feed();
    busy = (!pushes && puller.pull()) || busy;
    timer.expires_after(milliseconds(busy ? 0 : 2));
    timer.async_wait([&](const boost::system::error_code& cancelled) {
      if (!cancelled) {
        turn();
      }
    });
  };
  boost::asio::signal_set signals(context, SIGTERM);
  signals.async_wait([&](const boost::system::error_code&, int) {
    timer.cancel();
    context.stop();
  });
  std::cout << "ready" << std::endl;
  turn();
  context.run();
  manager.stop();
}

void run(const Settings& settings) {
  ackbox::OutboxOptions options;
  options.busyTimeout = milliseconds(kBusyTimeoutMilliseconds);
  options.batchFrames = 16;
  options.maxPending = 0;
  ackbox::OutboxManager manager = ackbox::OutboxManager::open(settings.database, options);
  const crash::SharedLedger ledger(settings.ledger);
  if (settings.mode == "hold") {
    hold(manager, settings, ledger);
  } else {
    work(manager, settings, ledger);
  }
}

}  // namespace

int main(int argc, char** argv) {
  constexpr int kWords = 6;
  if (argc != kWords) {
    std::cerr << "usage: shared_agent LIFE DATABASE LEDGER MESSAGES pull|push|hold\n";
    return EXIT_FAILURE;
  }
  try {
    run({argv[1], argv[2], argv[3], std::stoll(argv[4]), argv[5]});
    return EXIT_SUCCESS;
  } catch (const std::exception& error) {
    std::cerr << "shared_agent: " << error.what() << '\n';
    return EXIT_FAILURE;
  }
}
