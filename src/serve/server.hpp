#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "serve/config/config.hpp"

namespace ackbox::serve {

/// The implementation of `ackbox serve`: an outbox that delivers, and its HTTP interface.
///
/// Thread-safety: all members may be called from any thread, one at a time.
/// Lifetime: the destructor stops the server.
class Server {
public:
  /// Opens or creates the outbox in `file`, begins to deliver, and listens.
  /// Throws `Error` as `OutboxManager::open`, `OutboxManager::start`, `HttpSender::usePeers` and `InboundServer`, and
  /// if the file of tokens is invalid.
  Server(const std::filesystem::path& file, Config config);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// The address of the API: a URL, or `unix:PATH`.
  [[nodiscard]] std::string url() const;
  /// The port of the API; 0 on a socket file.
  [[nodiscard]] std::uint16_t port() const;
  /// The URL of the inbox, which peers send to; empty if no inbox is configured.
  [[nodiscard]] std::string inboxUrl() const;

  /// Reads the tokens and certificates from their files again, and checks whether the secrets can be used. Changes of
  /// certificates and secrets take effect without a reload; other changes take effect at the next start. Logs what
  /// changed (`configuration-reloaded`), or why the tokens stay unchanged (`reload-refused`).
  void reload();

  /// Accepts no more requests, answers the pending ones, and ends the delivery. Idempotent.
  void stop();

private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace ackbox::serve
