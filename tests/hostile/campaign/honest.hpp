#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "ackbox/inbound_handler.hpp"
#include "ackbox/inbound_server.hpp"
#include "ackbox/outbox_manager.hpp"
#include "support/temp_dir.hpp"

namespace ackbox::campaign {

/// How somebody honest was served.
struct Served {
  std::uint64_t asked = 0;
  std::uint64_t done = 0;
  /// Of those that were done, and of requests that got nothing until patience was over; in milliseconds.
  double p50 = 0;
  double p99 = 0;
  double worst = 0;
};

/// Speaks to the target all the time, each request signed and on a connection of its own.
class HonestCaller {
public:
  /// `type`: that of its frames.
  HonestCaller(std::uint16_t port, std::string type);
  HonestCaller(const HonestCaller&) = delete;
  HonestCaller& operator=(const HonestCaller&) = delete;
  ~HonestCaller();

  /// Ends it. Idempotent.
  void stop();
  [[nodiscard]] Served served() const;
  /// Whether a request from now on is served until `patience` is over.
  [[nodiscard]] bool isServedWithin(std::chrono::milliseconds patience);

private:
  void call();
  void speak();

  const std::uint16_t port_;
  const std::string type_;
  std::atomic<bool> over_ = false;
  mutable std::mutex mutex_;
  std::uint64_t done_ = 0;
  std::vector<double> times_;
  std::thread thread_;
};

/// An agent of this process that takes what the target sends: frames with their time, and others.
class Neighbour {
public:
  Neighbour();

  [[nodiscard]] std::string url() const { return server_->url(); }
  [[nodiscard]] std::uint16_t port() const { return server_->port(); }
  /// Frames of the beat, by how long each took from its enqueue. Waits for half of those asked, for so long.
  [[nodiscard]] Served beatsOf(std::uint64_t asked, std::chrono::milliseconds patience) const;
  /// Others.
  [[nodiscard]] std::uint64_t others() const { return others_; }

private:
  void take(const InboundFrame& frame);

  testing::TempDir directory_;
  mutable std::mutex mutex_;
  std::vector<double> times_;
  std::atomic<std::uint64_t> others_ = 0;
  std::optional<OutboxManager> manager_;
  std::optional<InboundHandler> handler_;
  std::optional<InboundServer> server_;
};

}  // namespace ackbox::campaign
