#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace ackbox {

/// The process in which this object was made. A fork copies objects, but neither their threads nor SQLite's locks, so a
/// child must neither use nor end an object that its parent opened.
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

  /// Keeps an inherited object until the child ends: its destructor would wait for threads that do not exist here, and
  /// would use descriptors that both processes share.
  static void abandon(std::shared_ptr<void> inherited);

private:
  [[noreturn]] void refuse() const;

  // How many forks lie between the first process and this one. The child counts: asking the kernel for the process's
  // number would be a system call for each use.
  static std::atomic<std::uint32_t> forks;
  friend class ForkRegistry;

  std::uint32_t generation_;
  pid_t process_;
};

/// A database file that this process has open. In a child, SQLite finds the file open in its copied memory and asks the
/// kernel for no lock on it: the child's writes can be lost without an error. So a child cannot open a file that was
/// open when it was forked.
class OpenFile {
public:
  /// Throws `Error` with `otherProcess` if `file` was open when this process was forked.
  explicit OpenFile(const std::filesystem::path& file);
  ~OpenFile();
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

private:
  std::uint64_t number_;
};

/// A descriptor that is closed in a child. Otherwise the child would keep alive what the parent's end should end, such
/// as a lock of its open file description, or a port.
class UnsharedDescriptor {
public:
  UnsharedDescriptor() = default;
  ~UnsharedDescriptor() { release(); }
  UnsharedDescriptor(const UnsharedDescriptor&) = delete;
  UnsharedDescriptor& operator=(const UnsharedDescriptor&) = delete;

  /// Calls `open` and returns its descriptor, or a negative number; no fork comes between opening and registering.
  int hold(const std::function<int()>& open);
  /// Calls `close` for the descriptor, with no fork between unregistering and closing. Afterwards none is held.
  void release(const std::function<void(int)>& close = {}) noexcept;

private:
  int descriptor_ = -1;
};

/// The descriptor of an object of a library, which may close it by itself; it is closed in a child as well. A fork
/// before `hold` copies it.
class UnsharedObject {
public:
  /// Returns the object's descriptor, or a negative number.
  using DescriptorOf = int (*)(const void* object);

  UnsharedObject() = default;
  ~UnsharedObject() { release(); }
  UnsharedObject(const UnsharedObject&) = delete;
  UnsharedObject& operator=(const UnsharedObject&) = delete;

  void hold(const void* object, DescriptorOf descriptorOf);
  /// Before the object's end.
  void release() noexcept;

private:
  const void* object_ = nullptr;
};

}  // namespace ackbox
