#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "ackbox/outbox_manager.hpp"
#include "bench/child_process.hpp"

namespace ackbox::bench {

/// The other process of a delivery, seen from its parent: an `InboundServer` over a durable store on loopback.
class Receiver {
public:
  Receiver(const std::filesystem::path& file, Durability durability);

  [[nodiscard]] const std::string& url() const noexcept { return url_; }
  /// Processor time that it has used since it began to listen.
  [[nodiscard]] double cpuMicroseconds();
  /// Stops it and waits; then its file may be read.
  void finish() { process_.finish(); }

private:
  ChildProcess process_;
  std::string url_;
};

/// The body of that process: prints its URL, answers each line of its input with its processor time, and ends with
/// its input.
int runReceiver(const std::filesystem::path& file, Durability durability);

/// An outbox in `file` that delivers to `receiver`, already started.
[[nodiscard]] std::unique_ptr<OutboxManager> startSender(const std::filesystem::path& file, Durability durability,
                                                         const Receiver& receiver);

/// This process's processor time, user and system, of all its threads.
[[nodiscard]] double ownCpuMicroseconds();

}  // namespace ackbox::bench
