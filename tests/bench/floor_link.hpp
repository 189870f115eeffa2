#pragma once

#include <filesystem>
#include <memory>
#include <string>

namespace ackbox::bench {

class NaiveTable;

/// The least that a durable delivery can cost, without any outbox: an insert with its fdatasync, a POST over a kept
/// loopback connection, an insert with its fdatasync in the other process, the reply. Blocking sockets, one thread a
/// side.
class FloorLink {
public:
  /// Connects to a process that runs `runFloorReceiver` on `port`. Throws `std::runtime_error`.
  FloorLink(const std::filesystem::path& file, const std::string& port);
  FloorLink(const FloorLink&) = delete;
  FloorLink& operator=(const FloorLink&) = delete;
  ~FloorLink();

  /// One message, from before its insert to after its reply.
  void deliver(const std::string& messageId, const std::string& session, const std::string& data);

private:
  std::unique_ptr<NaiveTable> table_;
  int socket_ = -1;
};

/// The other side: prints its port, serves one connection, and ends with it.
int runFloorReceiver(const std::filesystem::path& file);

}  // namespace ackbox::bench
