#pragma once

#include <atomic>
#include <boost/asio/post.hpp>
#include <memory>
#include <utility>

#include "base/mutex.hpp"

namespace ackbox::manager {

/// Where a late answer looks for its run, which may have ended. Set before there is an answer; ended with the end lock
/// held alone, read with it shared.
template <typename Engine>
struct RunLink {
  std::weak_ptr<Engine> engine;
};

/// Carries one result from another thread (the writer's, a sender's) to an engine's strand, and lets go of the engine
/// there and then. A run completes only with the end lock held alone, so once its owner learns of the end, no other
/// thread can touch its executor any more, or be the last to hold the engine. Others share the lock, so that a thread
/// that is interrupted while it holds the lock, as by the very run that it wakes, keeps no other thread waiting.
///
/// Thread-safety: `enter` may be called from any thread; copies of the pointer to it may outlive the run.
template <typename Engine>
class RunHandoff {
public:
  /// For what the run waits for. Keeps the engine.
  RunHandoff(std::shared_ptr<SharedMutex> endLock, std::shared_ptr<Engine> engine)
      : endLock_(std::move(endLock)), engine_(std::move(engine)) {}

  /// For what may come when the run has ended without it: then nothing is entered. Keeps nothing.
  RunHandoff(std::shared_ptr<SharedMutex> endLock, std::shared_ptr<RunLink<Engine>> link)
      : endLock_(std::move(endLock)), link_(std::move(link)) {}

  /// Posts `work(Engine&)` to the strand; the first call does, later ones do nothing. `prepare(Engine&)` runs before,
  /// in the calling thread, and its result is passed to `work`.
  template <typename Prepare, typename Work>
  void enter(Prepare&& prepare, Work work) {
    const SharedLock lock(*endLock_);
    if (hasEntered_.exchange(true)) {
      return;
    }
    std::shared_ptr<Engine> engine = link_ ? link_->engine.lock() : std::move(engine_);
    if (!engine) {
      return;
    }
    auto prepared = prepare(*engine);
    const auto strand = engine->strand();
    boost::asio::post(strand, [target = std::move(engine), call = std::move(work),
                               given = std::move(prepared)]() mutable { call(*target, std::move(given)); });
  }

private:
  const std::shared_ptr<SharedMutex> endLock_;
  // Null where `engine_` is not.
  const std::shared_ptr<RunLink<Engine>> link_;
  std::atomic<bool> hasEntered_{false};
  // Taken by the call that enters, with the end lock held.
  std::shared_ptr<Engine> engine_;
};

}  // namespace ackbox::manager
