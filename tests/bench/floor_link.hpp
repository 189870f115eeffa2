#pragma once

#include <filesystem>
#include <string>

#include "bench/loopback.hpp"
#include "bench/naive_baseline.hpp"

namespace ackbox::bench {

/// The least that a durable delivery can cost, without any outbox: an insert with its fdatasync, a POST over a kept
/// loopback connection, an insert with its fdatasync in the other process, the reply. Blocking calls, one thread a
/// side.
class FloorLink {
public:
  /// Connects to a process that runs `runFloorReceiver` on `port`. Throws `std::runtime_error`.
  FloorLink(const std::filesystem::path& file, const std::string& port);

  /// One message, from before its insert to after its reply.
  void deliver(const std::string& messageId, const std::string& session, const std::string& data);

private:
  NaiveTable table_;
  Post post_;
};

/// The other side: prints its port, serves one connection, and ends with it.
int runFloorReceiver(const std::filesystem::path& file);

}  // namespace ackbox::bench
