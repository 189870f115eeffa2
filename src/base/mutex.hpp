#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>

// Mutexes that say what they guard, so that Clang checks at compile time that it is used with the lock held. The scheme
// of attributes is that of Clang's documentation, chapter "Thread Safety Analysis". A member that a mutex guards has
// ACKBOX_GUARDED_BY, a function that is called with the lock held ACKBOX_REQUIRES, and one that takes the lock, and
// could be called by mistake with the lock held, ACKBOX_EXCLUDES. The analysis looks at one function at a time: not
// into constructors and destructors, where no other thread knows the object, and not through a callback. A lambda that
// is called with the lock held therefore begins with `assertHeld`. Other compilers see no attributes, and the classes
// are the standard library's behind inline functions. The tests unit_architecture_thread_safety run the analysis.
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

  /// Does nothing. The analysis takes the caller's word for it, up to the end of the function, that the lock is held.
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

/// Locked for the scope, by one holder.
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

/// Two locked for the scope, in an order that cannot deadlock.
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

/// Locked for the scope, by any number of holders.
class ACKBOX_SCOPED_CAPABILITY SharedLock {
public:
  explicit SharedLock(SharedMutex& mutex) ACKBOX_ACQUIRE_SHARED(mutex) : lock_(mutex.native()) {}
  ~SharedLock() ACKBOX_RELEASE() = default;
  SharedLock(const SharedLock&) = delete;
  SharedLock& operator=(const SharedLock&) = delete;

private:
  const std::shared_lock<SharedMutex::Native> lock_;
};

/// Unlocked for the scope, and locked again at its end.
class ACKBOX_SCOPED_CAPABILITY MutexUnlock {
public:
  explicit MutexUnlock(Mutex& mutex) ACKBOX_RELEASE(mutex) : mutex_(mutex) { mutex_.native().unlock(); }
  ~MutexUnlock() ACKBOX_RELEASE() { mutex_.native().lock(); }
  MutexUnlock(const MutexUnlock&) = delete;
  MutexUnlock& operator=(const MutexUnlock&) = delete;

private:
  Mutex& mutex_;
};

/// Waits are without a predicate: the caller's loop is checked with its lock, a lambda would not be.
class ConditionVariable {
public:
  void wait(Mutex& mutex) ACKBOX_REQUIRES(mutex) {
    std::unique_lock lock(mutex.native(), std::adopt_lock);
    native_.wait(lock);
    (void)lock.release();
  }

  /// Returns at the latest when `most` has passed.
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
