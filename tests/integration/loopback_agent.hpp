#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <algorithm>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ackbox/http_sender.hpp"
#include "ackbox/inbound_handler.hpp"
#include "ackbox/inbound_server.hpp"
#include "ackbox/outbox_manager.hpp"
#include "support/reserved_port.hpp"
#include "support/temp_dir.hpp"

namespace ackbox::testing {

template <typename Condition>
void until(Condition condition) {
  while (!condition()) {
    std::this_thread::yield();
  }
}

/// `1 2 3`, from `first` to `last`.
inline std::string numbers(int first, int last) {
  std::string text = std::to_string(first);
  for (int number = first + 1; number <= last; ++number) {
    text += " " + std::to_string(number);
  }
  return text;
}

/// An agent with a real file, in which it keeps the frames that took effect, and a real server on loopback.
class LoopbackAgent {
public:
  LoopbackAgent(const LoopbackAgent&) = delete;
  LoopbackAgent& operator=(const LoopbackAgent&) = delete;

  void listen() {
    InboundServerOptions server;
    server.port = port_.number();
    server_.emplace(pool_.get_executor(), *handler, server);
  }
  void speak(std::shared_ptr<Sender> sender = std::make_shared<HttpSender>()) {
    manager->setSender(std::move(sender));
    manager->start();
  }
  [[nodiscard]] std::string url() const { return port_.url(); }

  std::string say(const std::string& peer, const std::string& session, const std::string& type,
                  const std::string& data) {
    return manager->enqueue({.peer = peer, .session = session, .type = type, .data = data}).messageId;
  }
  /// How many messages have not come to an end.
  [[nodiscard]] std::uint64_t live() const {
    const Stats stats = manager->getStats();
    return stats.pending + stats.sending + stats.sent;
  }

  /// What took effect in a session, as `1 2 3`.
  [[nodiscard]] std::string effects(const std::string& session) const {
    SQLite::Database database(file_.string(), SQLite::OPEN_READONLY);
    SQLite::Statement query(database, "SELECT data FROM effects WHERE session=? ORDER BY id");
    query.bind(1, session);
    std::string found;
    while (query.executeStep()) {
      found += (found.empty() ? "" : " ") + query.getColumn(0).getString();
    }
    return found;
  }
  [[nodiscard]] std::size_t effectCount(const std::string& session) const {
    const std::string found = effects(session);
    return found.empty() ? 0 : static_cast<std::size_t>(std::ranges::count(found, ' ')) + 1;
  }
  /// How often `onAcked` was called, for all messages or for one.
  std::size_t acks() {
    const std::scoped_lock lock(mutex_);
    return acked_.size();
  }
  std::ptrdiff_t acks(const std::string& id) {
    const std::scoped_lock lock(mutex_);
    return std::ranges::count(acked_, id, &AckedEvent::messageId);
  }
  std::set<std::string> acked() {
    const std::scoped_lock lock(mutex_);
    std::set<std::string> ids;
    std::ranges::transform(acked_, std::inserter(ids, ids.end()), &AckedEvent::messageId);
    return ids;
  }
  /// Of the latest ACK of a message.
  std::string resultOf(const std::string& id) {
    const std::scoped_lock lock(mutex_);
    const auto found =
        std::find_if(acked_.rbegin(), acked_.rend(), [&](const auto& one) { return one.messageId == id; });
    return found == acked_.rend() ? std::string() : found->result;
  }

  OutboxOptions options;
  std::optional<OutboxManager> manager;
  std::optional<InboundHandler> handler;

protected:
  LoopbackAgent(std::filesystem::path file, const std::string& name, std::size_t threads)
      : file_(std::move(file)), pool_(threads) {
    options.agent = "urn:agent:" + name;
    options.peerHealth.probeDelays = {std::chrono::milliseconds(5)};
  }
  ~LoopbackAgent() = default;

  void openManager() {
    manager.emplace(OutboxManager::open(file_, options));
    SQLite::Database(file_.string(), SQLite::OPEN_READWRITE)
        .exec("CREATE TABLE IF NOT EXISTS effects(id INTEGER PRIMARY KEY, session TEXT, data TEXT)");
    subscriptions_.push_back(manager->onAcked([this](const AckedEvent& event) {
      const std::scoped_lock lock(mutex_);
      acked_.push_back(event);
    }));
  }
  void closeServer() { server_.reset(); }
  void closeManager() {
    handler.reset();
    subscriptions_.clear();
    manager.reset();
  }
  static HandlerResult write(const InboundFrame& frame, InboundTransaction& transaction) {
    SQLite::Statement insert(transaction.database(), "INSERT INTO effects(session, data) VALUES (?, ?)");
    insert.bind(1, frame.session);
    insert.bind(2, frame.data);
    insert.exec();
    return HandlerResult::ack();
  }

  const std::filesystem::path file_;
  std::mutex mutex_;
  std::vector<Subscription> subscriptions_;

private:
  boost::asio::thread_pool pool_;
  std::optional<InboundServer> server_;
  const ReservedPort port_;
  // Guarded by mutex_.
  std::vector<AckedEvent> acked_;
};

}  // namespace ackbox::testing
