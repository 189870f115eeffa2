#pragma once

#include <atomic>
#include <boost/asio/post.hpp>
#include <memory>
#include <utility>

#include "base/mutex.hpp"

namespace ackbox::manager {

/// Leads a late answer to its run, which may have ended. Set before any answer; reset with the end lock held
/// exclusively, read with it shared.
template <typename Engine>
struct RunLink {
  std::weak_ptr<Engine> engine;
};

/// Carries one result from another thread (the writer's, a sender's) to an engine's strand, and drops the engine at
/// once. A run completes only with the end lock held exclusively. So after its owner learns of the end, no other thread
/// can use the run's executor, or hold the last reference to the engine. Other threads share the lock: a thread that is
/// interrupted while it holds the lock, even by the run that it wakes, blocks none of them.
///
/// Thread-safety: `enter` may be called from any thread; copies of the pointer to it may outlive the run.
template <typename Engine>
class RunHandoff {
public:
  /// For a result that the run waits for. Keeps the engine alive.
  RunHandoff(std::shared_ptr<SharedMutex> endLock, std::shared_ptr<Engine> engine)
      : endLock_(std::move(endLock)), engine_(std::move(engine)) {}

  /// For a result that may come after the run's end: it is then dropped. Does not keep the engine alive.
  RunHandoff(std::shared_ptr<SharedMutex> endLock, std::shared_ptr<RunLink<Engine>> link)
      : endLock_(std::move(endLock)), link_(std::move(link)) {}

  /// The first call posts `work(Engine&)` to the strand; later calls have no effect. `prepare(Engine&)` runs before, in
  /// the calling thread, and its result is passed to `work`.
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
  // Null if `engine_` is used instead.
  const std::shared_ptr<RunLink<Engine>> link_;
  std::atomic<bool> hasEntered_{false};
  // Taken by the call that enters, with the end lock held.
  std::shared_ptr<Engine> engine_;
};

}  // namespace ackbox::manager
