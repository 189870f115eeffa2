// Goal: Clang refuses each misuse of a lock, and nothing else.
// Method: thread_safety.sh compiles this file, and compares the lines that are refused with those that are marked. It
// belongs to no program.

#include <memory>

#include "base/mutex.hpp"

namespace ackbox::test {

class Counted : public std::enable_shared_from_this<Counted> {
public:
  // What is right.
  int locked() {
    const MutexLock lock(mutex_);
    return ++count_ + helper();
  }
  void awaits() {
    const MutexLock lock(mutex_);
    while (count_ == 0) {
      changed_.wait(mutex_);
    }
    {
      const MutexUnlock unlocked(mutex_);
      excluded();
    }
    count_ = 0;
  }
  void asserted() {
    const MutexLock lock(mutex_);
    const auto inside = [this] {
      mutex_.assertHeld();
      return ++count_;
    };
    inside();
  }
  int shared() {
    const SharedLock lock(*gate_);
    return open_;
  }
  void both() {
    const MutexLocks lock(*gate_, mutex_);
    open_ = ++count_;
  }

  auto throughPointer() {
    return [self = shared_from_this()] {
      const MutexLock lock(self->mutex_);
      return ++self->count_ + self->helper();
    };
  }

  // What is wrong.
  int read() const {
    return count_;  // refused
  }
  void write() {
    count_ = 1;  // refused
  }
  int calls() {
    return helper();  // refused
  }
  void callsItself() {
    const MutexLock lock(mutex_);
    excluded();  // refused
  }
  void locksTwice() {
    const MutexLock lock(mutex_);
    const MutexLock again(mutex_);  // refused
  }
  void otherLock() {
    const MutexLock lock(other_);
    ++count_;  // refused
  }
  void whileUnlocked() {
    const MutexLock lock(mutex_);
    const MutexUnlock unlocked(mutex_);
    ++count_;  // refused
  }
  void afterwards() {
    { const MutexLock lock(mutex_); }
    ++count_;  // refused
  }
  void inCallback() {
    const MutexLock lock(mutex_);
    const auto inside = [this] {
      return ++count_;  // refused
    };
    inside();
  }
  void awaitsUnlocked() {
    changed_.wait(mutex_);  // refused
  }
  void writesShared() {
    const SharedLock lock(*gate_);
    open_ = 1;  // refused
  }
  void oneOfBoth() {
    const MutexLock lock(*gate_);
    open_ = 1;
    ++count_;  // refused
  }
  auto throughOtherPointer(const std::shared_ptr<Counted>& other) {
    return [self = shared_from_this(), other] {
      const MutexLock lock(self->mutex_);
      return ++other->count_;  // refused
    };
  }

private:
  int helper() ACKBOX_REQUIRES(mutex_) { return count_; }
  void excluded() ACKBOX_EXCLUDES(mutex_) {}

  mutable Mutex mutex_;
  ConditionVariable changed_;
  int count_ ACKBOX_GUARDED_BY(mutex_) = 0;

  const std::shared_ptr<SharedMutex> gate_ = std::make_shared<SharedMutex>();
  int open_ ACKBOX_GUARDED_BY(*gate_) = 0;

  Mutex other_;
};

}  // namespace ackbox::test
