#pragma once

#include <atomic>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "ackbox/deferred_frame.hpp"
#include "ackbox/diagnosis.hpp"
#include "ackbox/outbox_reader.hpp"
#include "ackbox/peer_status.hpp"
#include "integration/loopback_agent.hpp"

namespace ackbox::testing {

/// An agent whose file is lost, copied and put back between its lives.
class Agent : public LoopbackAgent {
public:
  Agent(std::filesystem::path file, const std::string& name) : LoopbackAgent(std::move(file), name, 1) {
    options.pollInterval = std::chrono::milliseconds(5);
  }
  ~Agent() { close(); }

  void open() {
    openManager();
    InboundOptions inbound;
    inbound.allowAnonymous = true;
    inbound.onGap = [this](const InboundGap& gap) {
      const std::scoped_lock lock(mutex_);
      gaps_.push_back(gap.session + ":" + std::to_string(gap.firstMissing) + "-" + std::to_string(gap.lastMissing));
    };
    // They are never worked on.
    inbound.deferred.handler = [this](DeferredFrame frame) {
      const std::scoped_lock lock(mutex_);
      deferred_.push_back(std::move(frame));
    };
    handler.emplace(
        *manager,
        [this](const InboundFrame& frame, InboundTransaction& transaction) {
          return defers ? HandlerResult::defer() : write(frame, transaction);
        },
        inbound);
    listen();
    subscriptions_.push_back(manager->onPeerReset([this](const PeerResetEvent& event) {
      const std::scoped_lock lock(mutex_);
      resets_.push_back(event);
    }));
  }
  /// Open, and delivering.
  void start() {
    open();
    speak();
  }
  void close() {
    closeServer();
    {
      const std::scoped_lock lock(mutex_);
      deferred_.clear();
    }
    closeManager();
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
  /// Closed by this.
  void goBack() {
    close();
    restore();
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
  std::string say(const std::string& session, const std::string& data, const std::string& type = "say") {
    return LoopbackAgent::say(options.peers.front().name, session, type, data);
  }
  /// Enqueues the numbers `first` to `last` in one commit.
  void count(const std::string& session, int first, int last) {
    std::vector<Frame> frames;
    for (int number = first; number <= last; ++number) {
      frames.push_back(
          {.peer = options.peers.front().name, .session = session, .type = "say", .data = std::to_string(number)});
    }
    manager->enqueueBatch(frames);
  }
  /// The same, and all of it comes to an end.
  void settle(const std::string& session, int first, int last) {
    count(session, first, last);
    untilSettled();
  }
  void untilSettled() const {
    until([this] { return live() == 0; });
  }

  /// The events so far; waited for until there are as many, because they come after the commit that shows.
  std::vector<PeerResetEvent> resets(std::size_t awaited = 0) { return events(resets_, awaited); }
  std::vector<std::string> gaps(std::size_t awaited = 0) { return events(gaps_, awaited); }
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

  /// Whether it defers each frame.
  std::atomic<bool> defers = false;

private:
  template <typename Event>
  std::vector<Event> events(const std::vector<Event>& source, std::size_t awaited) {
    std::vector<Event> copied;
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

  // Guarded by mutex_.
  std::vector<PeerResetEvent> resets_;
  std::vector<std::string> gaps_;
  std::vector<DeferredFrame> deferred_;
};

/// Alice speaks to Bob; what was acknowledged is kept.
struct TwoAgents {
  TwoAgents() {
    alice.knows("bob", bob);
    alice.options.ackedRetention = std::chrono::hours(1);
    bob.open();
    alice.start();
  }

  const TempDir dir;
  Agent bob{dir.file("bob.db"), "bob"};
  Agent alice{dir.file("alice.db"), "alice"};
};

}  // namespace ackbox::testing
