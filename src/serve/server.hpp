#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "serve/config/config.hpp"

namespace ackbox::serve {

/// What `ackbox serve` runs: an outbox that delivers, and the HTTP surface on it.
///
/// Thread-safety: all members may be called from any thread, one at a time.
/// Lifetime: destruction stops it.
class Server {
public:
  /// Opens or creates the outbox in `file`, begins to deliver, and listens.
  /// Throws `Error` as `OutboxManager::open`, `OutboxManager::start`, `HttpSender::usePeers` and `InboundServer`, and
  /// where the file of tokens is not as it must be.
  Server(const std::filesystem::path& file, Config config);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Where it listens: a URL, or `unix:PATH`.
  [[nodiscard]] std::string url() const;
  /// 0 on a socket file.
  [[nodiscard]] std::uint16_t port() const;
  /// Where peers send to; empty: nowhere.
  [[nodiscard]] std::string inboxUrl() const;

  /// Takes the tokens and certificates from their files again, and looks whether the secrets can be used. Changes of
  /// certificates and secrets are noticed without it; what else is changed counts from the next start. The log has what
  /// changed (`configuration-reloaded`), or why the tokens stay as they were (`reload-refused`).
  void reload();

  /// Accepts no more, answers what is under way, and ends the delivery. Idempotent.
  void stop();

private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace ackbox::serve
