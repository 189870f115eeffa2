#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ackbox/tls.hpp"

// OpenSSL's own names for its types, so that its headers stop in the sources.
struct ssl_ctx_st;
struct ssl_st;

namespace ackbox::transport {

/// Certificates and keys as connections begin with them: read from files, and again when those have changed.
///
/// Thread-safety: all members may be called from any thread.
class TlsContext {
public:
  /// Throws `Error` with `invalidOption` naming the file that cannot be read or does not fit.
  explicit TlsContext(const TlsClientOptions& options);
  explicit TlsContext(const TlsServerOptions& options);

  /// What one connection begins with; the caller owns it. Looks at the files first.
  /// Throws `Error` with `outOfMemory`.
  [[nodiscard]] ssl_st* makeConnection();

  /// Reads the files now, changed or not.
  /// Throws `Error` with `invalidOption`, and keeps what was there before.
  void reload();

  /// Changes with each reload: connections that began before one are not used again.
  [[nodiscard]] std::uint64_t generation();

private:
  using Shared = std::shared_ptr<ssl_ctx_st>;
  /// Tells one content of the files from another.
  using Stamps = std::vector<std::string>;

  TlsContext(std::function<Shared()> load, std::vector<std::filesystem::path> files);
  [[nodiscard]] Stamps stamps() const;
  void refresh();

  const std::function<Shared()> load_;
  const std::vector<std::filesystem::path> files_;

  std::mutex mutex_;
  // Guarded by mutex_.
  Stamps stamps_;
  Shared context_;
  std::uint64_t generation_ = 0;
};

}  // namespace ackbox::transport
