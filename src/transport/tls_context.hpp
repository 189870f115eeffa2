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

// OpenSSL's own names for its types, so that its headers stop in the sources.
struct ssl_ctx_st;
struct ssl_method_st;
struct ssl_st;

namespace ackbox::transport {

/// Certificates and keys as connections begin with them: read from files, and again when those have changed. Files that
/// cannot be read leave what was there before; but trust in authorities ends with the grace, and at once where a file
/// says that no authority is trusted.
///
/// Thread-safety: all members may be called from any thread.
class TlsContext {
public:
  /// Throws `Error` with `invalidOption` naming the file that cannot be read or does not fit.
  explicit TlsContext(const TlsClientOptions& options, std::shared_ptr<Clock> clock = systemClock());
  explicit TlsContext(const TlsServerOptions& options, std::shared_ptr<Clock> clock = systemClock());

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
  /// Distinguishes one content of the files from another.
  using Stamps = std::vector<std::string>;

  struct Trust {
    /// Of authorities; empty: there is no trust to end.
    std::filesystem::path file;
    std::chrono::milliseconds grace;
    /// Of the side that this is.
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
  // When the files were last found to be those that it holds.
  SteadyTime soundAt_ ACKBOX_GUARDED_BY(mutex_);
  bool isFailing_ ACKBOX_GUARDED_BY(mutex_) = false;
  bool hasEnded_ ACKBOX_GUARDED_BY(mutex_) = false;
};

}  // namespace ackbox::transport
