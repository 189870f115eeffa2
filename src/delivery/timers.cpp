#include "delivery/timers.hpp"

#include <algorithm>

namespace ackbox::delivery {
namespace {

constexpr auto kLater = [](const Timers::Timer& left, const Timers::Timer& right) { return left.due > right.due; };
constexpr std::size_t kSweepMin = 256;

}  // namespace

void Timers::add(const Timer& timer) {
  heap_.push_back(timer);
  std::push_heap(heap_.begin(), heap_.end(), kLater);
}

void Timers::abandoned() {
  ++abandoned_;
  if (abandoned_ < kSweepMin || abandoned_ < heap_.size() / 2) {
    return;
  }
  std::erase_if(heap_, [this](const Timer& timer) { return !isLive_(timer); });
  std::make_heap(heap_.begin(), heap_.end(), kLater);
  abandoned_ = 0;
}

std::optional<Timers::Timer> Timers::takeDue(SteadyTime now) {
  while (!heap_.empty() && heap_.front().due <= now) {
    const Timer timer = pop();
    if (isLive_(timer)) {
      return timer;
    }
  }
  return std::nullopt;
}

void Timers::settle() {
  while (!heap_.empty() && !isLive_(heap_.front())) {
    pop();
  }
}

std::optional<SteadyTime> Timers::next() const {
  return heap_.empty() ? std::nullopt : std::optional(heap_.front().due);
}

Timers::Timer Timers::pop() {
  std::pop_heap(heap_.begin(), heap_.end(), kLater);
  const Timer timer = heap_.back();
  heap_.pop_back();
  return timer;
}

}  // namespace ackbox::delivery
