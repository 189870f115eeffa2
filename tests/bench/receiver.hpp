#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "ackbox/outbox_manager.hpp"
#include "bench/child_process.hpp"

namespace ackbox::bench {

/// How two processes speak: plainly, unless told otherwise. Nothing in it outlives the folder.
struct Link {
  /// Where the keys are that `isSigned` and `isEncrypted` need, see `writeKeys`.
  std::filesystem::path keys;
  /// Requests and answers are signed with HMAC-SHA256 (`v1`).
  bool isSigned = false;
  /// TLS, with the server's certificate verified.
  bool isEncrypted = false;
  /// Both outboxes have a log sink at `info`, which makes each record's line and throws it away.
  bool isLogged = false;
  /// Frames of one request; 0: as many as an outbox sends by default.
  std::uint32_t batchFrames = 0;
  /// Requests under way at once, each on a connection of its own; 0: as many as a peer gets by default.
  std::uint32_t maxRequests = 0;
  /// Where the sender's outbox is in PostgreSQL; empty: in a file.
  std::string database = {};
};

/// Makes a secret, an authority and the receiver's certificate in `folder`, for the length of a measurement.
void writeKeys(const std::filesystem::path& folder);

/// What a receiver has used since it began to listen.
struct ReceiverUsage {
  double cpuMicroseconds = 0;
  /// Of its write-ahead log.
  std::uint64_t syncs = 0;
};

/// The other process of a delivery, seen from its parent: an `InboundServer` over a durable store on loopback.
class Receiver {
public:
  Receiver(const std::filesystem::path& file, Durability durability, const Link& link = {});

  [[nodiscard]] const std::string& url() const noexcept { return url_; }
  [[nodiscard]] ReceiverUsage usage();
  /// Stops it and waits; then its file may be read.
  void finish() { process_.finish(); }

private:
  ChildProcess process_;
  std::string url_;
};

/// The body of that process: prints its URL, answers each line of its input with what it has used, and ends with
/// its input.
int runReceiver(const std::filesystem::path& file, Durability durability, const Link& link);

/// An outbox in `file` that delivers to `receiver`, already started.
[[nodiscard]] std::unique_ptr<OutboxManager> startSender(const std::filesystem::path& file, Durability durability,
                                                         const Receiver& receiver, const Link& link = {});

}  // namespace ackbox::bench
