#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ackbox/clock.hpp"
#include "ackbox/tls.hpp"
#include "base/mutex.hpp"

// OpenSSL's own names of its types, so that only the sources include its headers.
struct ssl_ctx_st;
struct ssl_method_st;
struct ssl_st;

namespace ackbox::transport {

/// The certificates and keys for new connections, read from files, and again when the files have changed. If the files
/// cannot be read, the previous ones stay; but trust in authorities ends after the grace, and at once if a file states
/// that no authority is trusted.
///
/// Thread-safety: all members may be called from any thread.
class TlsContext {
public:
  /// Throws `Error` with `invalidOption` naming the file that cannot be read or does not fit.
  explicit TlsContext(const TlsClientOptions& options, std::shared_ptr<Clock> clock = systemClock());
  explicit TlsContext(const TlsServerOptions& options, std::shared_ptr<Clock> clock = systemClock());

  /// The TLS object for one connection; the caller owns it. Checks the files first.
  /// Throws `Error` with `outOfMemory`.
  [[nodiscard]] ssl_st* makeConnection();

  /// Reads the files now, whether or not they have changed.
  /// Throws `Error` with `invalidOption`, and keeps the previous certificates.
  void reload();

  /// Changes with each reload: a connection from before a reload is not reused.
  [[nodiscard]] std::uint64_t generation();

private:
  using Shared = std::shared_ptr<ssl_ctx_st>;
  /// Distinguishes one content of the files from another. One stamp per file.
  using Stamps = std::vector<std::string>;

  struct Trust {
    /// The file of authorities; empty: there is no trust to end.
    std::filesystem::path file;
    std::chrono::milliseconds grace;
    /// The method of this side, client or server.
    const ssl_method_st* (*method)();
  };

  TlsContext(std::function<Shared()> load, std::vector<std::filesystem::path> files, Trust trust,
             std::shared_ptr<Clock> clock);
  [[nodiscard]] Stamps stamps() const;
  void refresh() ACKBOX_REQUIRES(mutex_);
  void outlast() ACKBOX_REQUIRES(mutex_);

  const std::function<Shared()> load_;
  const std::vector<std::filesystem::path> files_;
  const Trust trust_;
  const std::shared_ptr<Clock> clock_;

  Mutex mutex_;
  Stamps stamps_ ACKBOX_GUARDED_BY(mutex_);
  Shared context_ ACKBOX_GUARDED_BY(mutex_);
  std::uint64_t generation_ ACKBOX_GUARDED_BY(mutex_) = 0;
  // When the loaded files were last found to be current.
  SteadyTime soundAt_ ACKBOX_GUARDED_BY(mutex_);
  bool isFailing_ ACKBOX_GUARDED_BY(mutex_) = false;
  bool hasEnded_ ACKBOX_GUARDED_BY(mutex_) = false;
};

}  // namespace ackbox::transport
