#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/thread_pool.hpp>
#include <filesystem>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "ackbox/deferred_frame.hpp"
#include "ackbox/diagnosis.hpp"
#include "ackbox/http_sender.hpp"
#include "ackbox/inbound_handler.hpp"
#include "ackbox/inbound_server.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_reader.hpp"
#include "ackbox/peer_status.hpp"
#include "support/reserved_port.hpp"
#include "support/temp_dir.hpp"

namespace ackbox::testing {

template <typename Condition>
void until(Condition condition) {
  while (!condition()) {
    std::this_thread::yield();
  }
}

/// An agent with a real file and a real server on loopback, whose file is lost, copied and put back between its lives.
class Agent {
public:
  Agent(std::filesystem::path file, const std::string& name) : file_(std::move(file)), pool_(1) {
    options.agent = "urn:agent:" + name;
    options.peerHealth.probeDelays = {std::chrono::milliseconds(5)};
    options.pollInterval = std::chrono::milliseconds(5);
  }
  ~Agent() { close(); }
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  void open() {
    manager.emplace(OutboxManager::open(file_, options));
    {
      SQLite::Database database(file_.string(), SQLite::OPEN_READWRITE);
      database.exec("CREATE TABLE IF NOT EXISTS heard(id INTEGER PRIMARY KEY, session TEXT, data TEXT)");
    }
    InboundOptions inbound;
    inbound.allowAnonymous = true;
    inbound.onGap = [this](const InboundGap& gap) {
      const std::scoped_lock lock(mutex_);
      gaps_.push_back(gap.session + ":" + std::to_string(gap.firstMissing) + "-" + std::to_string(gap.lastMissing));
    };
    // Nobody ever works on them.
    inbound.deferred.handler = [this](DeferredFrame frame) {
      const std::scoped_lock lock(mutex_);
      deferred_.push_back(std::move(frame));
    };
    handler.emplace(
        *manager,
        [this](const InboundFrame& frame, InboundTransaction& transaction) {
          if (defers) {
            return HandlerResult::defer();
          }
          SQLite::Statement insert(transaction.database(), "INSERT INTO heard(session,data) VALUES(?,?)");
          insert.bind(1, frame.session);
          insert.bind(2, frame.data);
          insert.exec();
          return HandlerResult::ack();
        },
        inbound);
    InboundServerOptions server;
    server.port = port_.number();
    server_.emplace(pool_.get_executor(), *handler, server);
    subscriptions_.push_back(manager->onPeerReset([this](const PeerResetEvent& event) {
      const std::scoped_lock lock(mutex_);
      resets_.push_back(event);
    }));
    subscriptions_.push_back(manager->onAcked([this](const AckedEvent& event) {
      const std::scoped_lock lock(mutex_);
      acked_.push_back(event.messageId);
    }));
  }
  void speak() {
    manager->setSender(std::make_shared<HttpSender>());
    manager->start();
  }
  void close() {
    server_.reset();
    {
      const std::scoped_lock lock(mutex_);
      deferred_.clear();
    }
    handler.reset();
    subscriptions_.clear();
    manager.reset();
    // The end of a run may outlive its manager for a moment, and the file is about to be replaced.
    until([this] { return !isOpen(); });
  }

  /// As a backup tool does it, also while the file is in use.
  void backUp() const {
    std::filesystem::remove(copy());
    SQLite::Database(file_.string(), SQLite::OPEN_READWRITE).exec("VACUUM INTO '" + copy().string() + "'");
  }
  /// Closed. The file is what it was at the last `backUp`.
  void restore() const {
    lose();
    std::filesystem::copy_file(copy(), file_);
  }
  /// Closed.
  void lose() const {
    for (const char* end : {"", "-wal", "-shm"}) {
      std::filesystem::remove(file_.string() + end);
    }
  }

  void knows(const std::string& name, const Agent& other) {
    options.peers = {{.name = name, .url = other.url(), .agent = "urn:agent:" + name}};
  }
  [[nodiscard]] std::string url() const { return port_.url(); }
  std::string say(const std::string& session, const std::string& data, const std::string& type = "say") {
    Frame frame;
    frame.peer = options.peers.front().name;
    frame.session = session;
    frame.type = type;
    frame.data = data;
    return manager->enqueue(frame).messageId;
  }
  /// Says `first` to `last` in one commit.
  void count(const std::string& session, int first, int last) {
    std::vector<Frame> frames;
    for (int number = first; number <= last; ++number) {
      Frame& frame = frames.emplace_back();
      frame.peer = options.peers.front().name;
      frame.session = session;
      frame.type = "say";
      frame.data = std::to_string(number);
    }
    manager->enqueueBatch(frames);
  }
  void untilSettled() const {
    until([&] {
      const Stats stats = manager->getStats();
      return stats.pending + stats.sending + stats.sent == 0;
    });
  }

  /// What took effect, as `1 2 3`.
  [[nodiscard]] std::string heard(const std::string& session) const {
    SQLite::Database database(file_.string(), SQLite::OPEN_READONLY);
    SQLite::Statement query(database, "SELECT data FROM heard WHERE session=? ORDER BY id");
    query.bind(1, session);
    std::string found;
    while (query.executeStep()) {
      found += (found.empty() ? "" : " ") + query.getColumn(0).getString();
    }
    return found;
  }
  /// What was told so far; waited for until there is as much, because it is told after the commit that shows.
  std::vector<PeerResetEvent> resets(std::size_t awaited = 0) { return told(resets_, awaited); }
  std::vector<std::string> gaps(std::size_t awaited = 0) { return told(gaps_, awaited); }
  std::size_t acks() {
    const std::scoped_lock lock(mutex_);
    return acked_.size();
  }
  std::set<std::string> acked() {
    const std::scoped_lock lock(mutex_);
    return {acked_.begin(), acked_.end()};
  }
  bool wasAcked(const std::string& id) {
    const std::scoped_lock lock(mutex_);
    return std::find(acked_.begin(), acked_.end(), id) != acked_.end();
  }
  [[nodiscard]] std::vector<Finding> findings() const { return OutboxReader(*manager).verify().findings; }
  /// Of the other agent.
  [[nodiscard]] PeerStats peer() const {
    for (const PeerStats& stats : OutboxReader(*manager).peerStats()) {
      if (stats.peer == options.peers.front().name) {
        return stats;
      }
    }
    return {};
  }

  OutboxOptions options;
  /// It defers all that it hears.
  std::atomic<bool> defers = false;
  std::optional<OutboxManager> manager;
  std::optional<InboundHandler> handler;

private:
  template <typename Told>
  std::vector<Told> told(const std::vector<Told>& source, std::size_t awaited) {
    std::vector<Told> copied;
    until([&] {
      const std::scoped_lock lock(mutex_);
      copied = source;
      return copied.size() >= awaited;
    });
    return copied;
  }
  [[nodiscard]] bool isOpen() const {
    std::error_code gone;
    for (const auto& descriptor : std::filesystem::directory_iterator("/proc/self/fd")) {
      const std::string opened = std::filesystem::read_symlink(descriptor.path(), gone).string();
      // Also what belongs to it.
      if (!gone && opened.starts_with(file_.string())) {
        return true;
      }
    }
    return false;
  }
  [[nodiscard]] std::filesystem::path copy() const { return file_.string() + ".copy"; }

  const std::filesystem::path file_;
  boost::asio::thread_pool pool_;
  std::optional<InboundServer> server_;
  const ReservedPort port_;
  std::mutex mutex_;
  // Guarded by mutex_.
  std::vector<PeerResetEvent> resets_;
  std::vector<std::string> gaps_;
  std::vector<std::string> acked_;
  std::vector<DeferredFrame> deferred_;
  // Before what they write to.
  std::vector<Subscription> subscriptions_;
};

/// Alice speaks to Bob; what was acknowledged is kept.
struct TwoAgents {
  TwoAgents() {
    alice.knows("bob", bob);
    alice.options.ackedRetention = std::chrono::hours(1);
    bob.open();
    alice.open();
    alice.speak();
  }

  const TempDir dir;
  Agent bob{dir.file("bob.db"), "bob"};
  Agent alice{dir.file("alice.db"), "alice"};
};

}  // namespace ackbox::testing
