#include "manager/inbound/refusal_counts.hpp"

#include <utility>

#include "manager/facade/jobs.hpp"

namespace ackbox::manager {
namespace {

constexpr std::chrono::seconds kBetweenWrites{1};

}  // namespace

RefusalCounts::RefusalCounts(store::Writer& writer, std::shared_ptr<Clock> clock)
    : writer_(writer), clock_(std::move(clock)), mayWriteAt_(clock_->steadyNow()) {}

void RefusalCounts::add(const Values& values) {
  Values due;
  {
    const std::scoped_lock lock(mutex_);
    left_.unauthenticated += values.unauthenticated;
    left_.forbidden += values.forbidden;
    const SteadyTime now = clock_->steadyNow();
    if (now < mayWriteAt_) {
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
