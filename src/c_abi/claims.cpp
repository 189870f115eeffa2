#include "c_abi/claims.hpp"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace ackbox::c_abi {
namespace {

constexpr const char* kClosed = "the program to open the file again";
// This process is not given the frame again before it has closed; another process may be at once.
constexpr std::chrono::seconds kClosedPause{1};

}  // namespace

void Claims::add(DeferredFrame frame) {
  {
    const MutexLock lock(mutex_);
    if (!isClosed_) {
      waiting_.push_back(std::move(frame));
      readiness_->set(Readiness::Source::frames, true);
      return;
    }
  }
  frame.giveBack(kClosed, kClosedPause);
}

std::optional<Claims::Claim> Claims::next() {
  const MutexLock lock(mutex_);
  if (waiting_.empty()) {
    return std::nullopt;
  }
  Claim claim{++lastNumber_, std::move(waiting_.front())};
  waiting_.pop_front();
  claimed_.emplace(claim.number, claim.frame);
  readiness_->set(Readiness::Source::frames, !waiting_.empty());
  return claim;
}

std::optional<DeferredFrame> Claims::take(std::uint64_t number) {
  const MutexLock lock(mutex_);
  auto found = claimed_.extract(number);
  return found ? std::optional(std::move(found.mapped())) : std::nullopt;
}

void Claims::close() {
  std::vector<DeferredFrame> frames;
  {
    const MutexLock lock(mutex_);
    isClosed_ = true;
    frames.assign(waiting_.begin(), waiting_.end());
    for (auto& [number, frame] : claimed_) {
      frames.push_back(frame);
    }
    waiting_.clear();
    claimed_.clear();
    readiness_->set(Readiness::Source::frames, false);
  }
  for (DeferredFrame& frame : frames) {
    frame.giveBack(kClosed, kClosedPause);
  }
}

}  // namespace ackbox::c_abi
