#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "bench/peers/effects.hpp"
#include "bench/peers/message.hpp"

namespace ackbox::bench::peers {

/// The most messages that a consumer takes into one transaction, unless its peer says otherwise.
constexpr std::size_t kBatch = 1'000;
/// How long a consumer waits for messages before it looks whether it is to end.
constexpr int kPollMilliseconds = 100;

/// Where the queue listens, and how a client is to use it.
struct Server {
  std::string host = "127.0.0.1";
  int port = 0;
  /// On disk: for what a client keeps.
  std::filesystem::path folder;
  /// In memory: for files that a client never syncs, and whose making would be the file system's measurement.
  std::filesystem::path memoryFolder;
  /// Which way of using the queue is meant, of those that the client knows.
  std::string variant;
};

/// Used by one thread.
class Producer {
public:
  virtual ~Producer() = default;
  /// Hands a message to the queue, at the latest by the next `drain`. Waits while `kWindow` are outstanding.
  virtual void publish(const Message& message) = 0;
  /// Returns when the queue has acknowledged everything.
  virtual void drain() = 0;
};

/// Used by one thread of a process of its own.
class Consumer {
public:
  virtual ~Consumer() = default;
  /// Takes what there is, or waits for it for `kPollMilliseconds`; commits its effects, then acknowledges it to the
  /// queue. Returns how many messages.
  virtual std::size_t consume(Effects& effects) = 0;
};

/// One queue: both throw when it refuses something. The consumer, made first, makes what the queue needs.
struct Peer {
  std::function<std::unique_ptr<Producer>(const Server&)> producer;
  std::function<std::unique_ptr<Consumer>(const Server&)> consumer;
};

/// The `main` of a client: measures as the arguments say and prints one line of JSON. Returns the exit status.
int runPeer(int argc, char** argv, const Peer& peer);

}  // namespace ackbox::bench::peers
