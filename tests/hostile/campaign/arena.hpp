#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "hostile/campaign/agent_process.hpp"
#include "hostile/campaign/honest.hpp"
#include "hostile/campaign/line.hpp"
#include "support/temp_dir.hpp"

namespace ackbox::campaign {

inline constexpr std::uint64_t kMib = 1024 * 1024;

struct ArenaOptions {
  std::filesystem::path agent;
  std::filesystem::path tool;
  /// See campaign_agent: `own`, `executor` or `pool`.
  std::string server = "own";
  std::uint64_t descriptors = 1024;
  std::chrono::milliseconds time = std::chrono::seconds(10);
  /// Whether counts and sizes are a tenth.
  bool isSmall = false;
};

/// What one attack did to the target and to those beside it.
struct Row {
  std::string attack;
  std::string input;
  /// How the target ended; empty: it lives.
  std::string ending;
  Taken taken;
  /// Before the attack.
  std::uint64_t memoryBeforeMiB = 0;
  std::uint64_t fileMiB = 0;
  Served in;
  Served out;
  /// Whether an honest request was served again within ten seconds of the attack's end.
  bool isServedAfter = false;
  /// What the attack got.
  std::string got;
};

/// The counts of what an attack gets.
///
/// Thread-safety: all members may be called from any thread.
class Tally {
public:
  void add(const std::string& what);
  /// `3 x 401, 2 x no answer`.
  [[nodiscard]] std::string text() const;

private:
  mutable std::mutex mutex_;
  std::map<std::string, std::uint64_t> counts_;
};

/// The target in a process of its own, an honest peer that speaks to it, one that it speaks to, and the meters.
class Arena {
public:
  explicit Arena(const ArenaOptions& options);
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();

  [[nodiscard]] const ArenaOptions& options() const { return options_; }
  /// A count of an attack, a tenth of it in the small form.
  [[nodiscard]] int scaled(int count) const { return options_.isSmall ? std::max(count / 10, 1) : count; }
  [[nodiscard]] AgentProcess& target() { return *target_; }
  [[nodiscard]] Neighbour& neighbour() { return neighbour_; }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::filesystem::path file(const std::string& name) const { return directory_.file(name); }

  /// Gives the target one more peer, or `count` numbered ones. Before `open`.
  void addPeers(const std::string& name, int count, const std::string& url);
  /// Opens the target; it does not deliver yet.
  void open();
  /// Begins delivery, and everything honest; after a moment without an attack, the attack's time begins. `type` is that
  /// of the honest frames; `beats` of the peers named `beat` are spoken to in turn, or the one named `honest` if it is
  /// 0.
  void begin(const std::string& type = "test", int beats = 0);
  /// Both.
  void openAndBegin(const std::string& type = "test");

  /// When the attack is over.
  [[nodiscard]] Instant deadline() const { return deadline_; }
  [[nodiscard]] bool isOver() const { return std::chrono::steady_clock::now() >= deadline_; }
  /// Lets time pass until the attack is over, or the target has ended.
  void idle();
  /// Bytes of the target's file and its log.
  [[nodiscard]] std::uint64_t fileBytes() const;

  /// Ends it and tells.
  [[nodiscard]] Row finish();

private:
  void watch();

  const ArenaOptions options_;
  testing::TempDir directory_;
  Neighbour neighbour_;
  std::unique_ptr<AgentProcess> target_;
  std::unique_ptr<HonestCaller> caller_;
  std::uint16_t port_ = 0;
  Instant deadline_;
  std::uint64_t memoryBeforeMiB_ = 0;
  std::atomic<bool> over_ = false;
  std::mutex takenMutex_;
  Taken taken_;
  std::thread watcher_;
};

}  // namespace ackbox::campaign
