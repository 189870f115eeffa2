#include "manager/inbound/refusal_counts.hpp"

#include <exception>
#include <string>
#include <utility>

#include "manager/facade/jobs.hpp"

namespace ackbox::manager {
namespace {

constexpr std::chrono::seconds kBetweenWrites{1};

}  // namespace

RefusalCounts::RefusalCounts(store::Writer& writer, std::shared_ptr<Clock> clock, bool hasTimer)
    : writer_(writer), clock_(std::move(clock)), hasTimer_(hasTimer), mayWriteAt_(clock_->steadyNow()) {}

RefusalCounts::~RefusalCounts() {
  close();
}

void RefusalCounts::close() noexcept {
  std::unique_ptr<Timer> ended;
  {
    const std::scoped_lock lock(mutex_);
    isClosed_ = true;
    ended = std::move(timer_);
  }
  // Without the lock, which the timer's thread may be waiting for.
  ended.reset();
}

// With mutex_ held.
void RefusalCounts::arm() {
  if (!hasTimer_ || isClosed_ || isArmed_) {
    return;
  }
  try {
    if (!timer_) {
      timer_ = std::make_unique<Timer>(
          *clock_, kBetweenWrites,
          [this] {
            wake();
            return false;
          },
          // What lacked memory is written with the next refusals.
          [](const std::string&) {});
    }
    timer_->arm(mayWriteAt_);
    isArmed_ = true;
  } catch (const std::exception&) {
    // There is no memory, or no thread: the next refusals write these as well.
  }
}

// On the timer's thread, which `close` waits for.
void RefusalCounts::wake() {
  Values due;
  {
    const std::scoped_lock lock(mutex_);
    isArmed_ = false;
    mayWriteAt_ = clock_->steadyNow() + kBetweenWrites;
    due = take();
  }
  write(due);
}

void RefusalCounts::add(const Values& values) {
  Values due;
  {
    const std::scoped_lock lock(mutex_);
    left_.unauthenticated += values.unauthenticated;
    left_.forbidden += values.forbidden;
    const SteadyTime now = clock_->steadyNow();
    if (now < mayWriteAt_) {
      arm();
      return;
    }
    mayWriteAt_ = now + kBetweenWrites;
    due = take();
  }
  write(due);
}

void RefusalCounts::flush() {
  Values due;
  {
    const std::scoped_lock lock(mutex_);
    due = take();
  }
  write(due);
}

RefusalCounts::Values RefusalCounts::unwritten() const {
  const std::scoped_lock lock(mutex_);
  return {left_.unauthenticated + underWay_.unauthenticated, left_.forbidden + underWay_.forbidden};
}

// With mutex_ held.
RefusalCounts::Values RefusalCounts::take() {
  underWay_.unauthenticated += left_.unauthenticated;
  underWay_.forbidden += left_.forbidden;
  return std::exchange(left_, {});
}

void RefusalCounts::written(const Values& values, bool isStored) {
  const std::scoped_lock lock(mutex_);
  underWay_.unauthenticated -= values.unauthenticated;
  underWay_.forbidden -= values.forbidden;
  if (!isStored) {
    left_.unauthenticated += values.unauthenticated;
    left_.forbidden += values.forbidden;
    mayWriteAt_ = clock_->steadyNow() + kBetweenWrites;
    arm();
  }
}

// Without the lock: where the writer has no thread of its own, the job runs in here.
void RefusalCounts::write(const Values& taken) {
  if (taken.unauthenticated == 0 && taken.forbidden == 0) {
    return;
  }
  commitDetached(
      writer_, false,
      [taken](store::Store& store) {
        store.inboundMarks().countRefusals(taken.unauthenticated, taken.forbidden);
        return true;
      },
      [self = shared_from_this(), taken](const std::error_code& error, bool) { self->written(taken, !error); });
}

}  // namespace ackbox::manager
