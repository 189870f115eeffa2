#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>

// Mutexes that declare which data they guard, so that Clang checks at compile time that the data is used with the lock
// held. The attributes follow Clang's documentation, chapter "Thread Safety Analysis". A guarded member has
// ACKBOX_GUARDED_BY, a function that is called with the lock held ACKBOX_REQUIRES, and a function that takes the lock
// and could be called with it by mistake ACKBOX_EXCLUDES. The analysis covers one function at a time: it skips
// constructors and destructors, where no other thread knows the object, and cannot look through a callback. A lambda
// that is called with the lock held therefore begins with `assertHeld`. For other compilers, the classes are inline
// wrappers of the standard library's. The tests unit_architecture_thread_safety run the analysis.
#ifdef __clang__
#define ACKBOX_ATTRIBUTE(attribute) __attribute__((attribute))
#else
#define ACKBOX_ATTRIBUTE(attribute)
#endif
#define ACKBOX_CAPABILITY ACKBOX_ATTRIBUTE(capability("mutex"))
#define ACKBOX_SCOPED_CAPABILITY ACKBOX_ATTRIBUTE(scoped_lockable)
#define ACKBOX_GUARDED_BY(mutex) ACKBOX_ATTRIBUTE(guarded_by(mutex))
#define ACKBOX_REQUIRES(...) ACKBOX_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define ACKBOX_EXCLUDES(...) ACKBOX_ATTRIBUTE(locks_excluded(__VA_ARGS__))
#define ACKBOX_ACQUIRE(...) ACKBOX_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define ACKBOX_ACQUIRE_SHARED(...) ACKBOX_ATTRIBUTE(acquire_shared_capability(__VA_ARGS__))
#define ACKBOX_RELEASE(...) ACKBOX_ATTRIBUTE(release_capability(__VA_ARGS__))
#define ACKBOX_ASSERT_HELD ACKBOX_ATTRIBUTE(assert_capability(this))

namespace ackbox {

class ACKBOX_CAPABILITY Mutex {
public:
  using Native = std::mutex;

  /// Does nothing. From this call to the end of the function, the analysis assumes that the lock is held.
  void assertHeld() const noexcept ACKBOX_ASSERT_HELD {}

  /// For the locks below.
  [[nodiscard]] Native& native() noexcept { return native_; }

private:
  Native native_;
};

class ACKBOX_CAPABILITY SharedMutex {
public:
  using Native = std::shared_mutex;

  [[nodiscard]] Native& native() noexcept { return native_; }

private:
  Native native_;
};

/// Locks for the scope, exclusively.
template <typename Lockable>
class ACKBOX_SCOPED_CAPABILITY MutexLock {
public:
  explicit MutexLock(Lockable& mutex) ACKBOX_ACQUIRE(mutex) : lock_(mutex.native()) {}
  ~MutexLock() ACKBOX_RELEASE() = default;
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

private:
  const std::lock_guard<typename Lockable::Native> lock_;
};

/// Locks two mutexes for the scope, in an order that cannot deadlock.
template <typename First, typename Second>
class ACKBOX_SCOPED_CAPABILITY MutexLocks {
public:
  MutexLocks(First& first, Second& second) ACKBOX_ACQUIRE(first, second) : lock_(first.native(), second.native()) {}
  ~MutexLocks() ACKBOX_RELEASE() = default;
  MutexLocks(const MutexLocks&) = delete;
  MutexLocks& operator=(const MutexLocks&) = delete;

private:
  const std::scoped_lock<typename First::Native, typename Second::Native> lock_;
};

/// Locks for the scope, shared with other holders.
class ACKBOX_SCOPED_CAPABILITY SharedLock {
public:
  explicit SharedLock(SharedMutex& mutex) ACKBOX_ACQUIRE_SHARED(mutex) : lock_(mutex.native()) {}
  ~SharedLock() ACKBOX_RELEASE() = default;
  SharedLock(const SharedLock&) = delete;
  SharedLock& operator=(const SharedLock&) = delete;

private:
  const std::shared_lock<SharedMutex::Native> lock_;
};

/// Unlocks for the scope, and locks again at its end.
class ACKBOX_SCOPED_CAPABILITY MutexUnlock {
public:
  explicit MutexUnlock(Mutex& mutex) ACKBOX_RELEASE(mutex) : mutex_(mutex) { mutex_.native().unlock(); }
  ~MutexUnlock() ACKBOX_RELEASE() { mutex_.native().lock(); }
  MutexUnlock(const MutexUnlock&) = delete;
  MutexUnlock& operator=(const MutexUnlock&) = delete;

private:
  Mutex& mutex_;
};

/// Waits take no predicate: the analysis checks the caller's loop, but would not check a lambda.
class ConditionVariable {
public:
  void wait(Mutex& mutex) ACKBOX_REQUIRES(mutex) {
    std::unique_lock lock(mutex.native(), std::adopt_lock);
    native_.wait(lock);
    (void)lock.release();
  }

  /// Returns at the latest after `most`.
  void waitFor(Mutex& mutex, std::chrono::milliseconds most) ACKBOX_REQUIRES(mutex) {
    std::unique_lock lock(mutex.native(), std::adopt_lock);
    native_.wait_for(lock, most);
    (void)lock.release();
  }

  void notifyOne() noexcept { native_.notify_one(); }
  void notifyAll() noexcept { native_.notify_all(); }

private:
  std::condition_variable native_;
};

}  // namespace ackbox
