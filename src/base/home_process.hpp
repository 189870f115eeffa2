#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace ackbox {

/// The process that this object was made in. A fork copies objects, but neither the threads nor SQLite's locks that
/// stand behind them, so a child must neither use nor end what its parent opened.
///
/// Thread-safety: all members may be called from any thread.
class HomeProcess {
public:
  HomeProcess();

  [[nodiscard]] bool isHere() const noexcept { return generation_ == forks.load(std::memory_order_relaxed); }

  /// Throws `Error` with `otherProcess` in a child.
  void require() const {
    if (!isHere()) [[unlikely]] {
      refuse();
    }
  }

  /// Keeps what a child inherited until it ends: to destroy it would wait for threads that are not there, and reach
  /// through descriptors that both processes share.
  static void abandon(std::shared_ptr<void> inherited);

private:
  [[noreturn]] void refuse() const;

  // How many forks lie between the process that began and this one. Counted by the child: asking the kernel for the
  // process's number would be a system call a use.
  static std::atomic<std::uint32_t> forks;
  friend class ForkRegistry;

  std::uint32_t generation_;
  pid_t process_;
};

/// A database file that this process has open. SQLite takes a file that its copied memory shows as open for its own,
/// and asks the kernel for no lock on it: what a child writes there can be lost without an error. So a child cannot
/// open a file that was open when it was forked.
class OpenFile {
public:
  /// Throws `Error` with `otherProcess` where `file` was inherited.
  explicit OpenFile(const std::filesystem::path& file);
  ~OpenFile();
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

private:
  std::uint64_t number_;
};

/// A descriptor that is closed in a child: with it, the child would keep alive what the parent's end should end, such
/// as a lock of its open file description, or a port.
class UnsharedDescriptor {
public:
  UnsharedDescriptor() = default;
  ~UnsharedDescriptor() { release(); }
  UnsharedDescriptor(const UnsharedDescriptor&) = delete;
  UnsharedDescriptor& operator=(const UnsharedDescriptor&) = delete;

  /// `open` returns the descriptor, or a negative number; no fork comes between it and this. Returns it, too.
  int hold(const std::function<int()>& open);
  /// Calls `close` for it, which no fork comes before; afterwards none is held.
  void release(const std::function<void(int)>& close = {}) noexcept;

private:
  int descriptor_ = -1;
};

}  // namespace ackbox
