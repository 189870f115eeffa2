#pragma once

#include <atomic>
#include <boost/asio/post.hpp>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <utility>

namespace ackbox::manager {

/// Where a run is found by whoever may come after its end. Changed with the gate held alone, read with it shared.
template <typename Engine>
struct RunLink {
  std::weak_ptr<Engine> engine;
};

/// Carries one result from another thread (the writer's, a sender's) to an engine's strand, and lets go of the engine
/// there and then. A run completes only after passing the same gate, so once its owner is told of the end, no other
/// thread can touch its executor any more, or be the last to hold the engine. Many may pass the gate at once, so that
/// whoever is interrupted in it, as by the very run that it wakes, keeps nobody waiting.
///
/// Thread-safety: `enter` may be called from any thread; copies of the pointer to it may outlive the run.
template <typename Engine>
class RunHandoff {
public:
  /// For what the run waits for. Keeps the engine.
  RunHandoff(std::shared_ptr<std::shared_mutex> gate, std::shared_ptr<Engine> engine)
      : gate_(std::move(gate)), engine_(std::move(engine)) {}

  /// For what may come when the run has ended without it: then nothing is entered. Keeps nothing.
  RunHandoff(std::shared_ptr<std::shared_mutex> gate, std::shared_ptr<RunLink<Engine>> door)
      : gate_(std::move(gate)), door_(std::move(door)) {}

  /// Posts `work(Engine&)` to the strand; the first call does, later ones do nothing. `prepare(Engine&)` runs before,
  /// in the calling thread, and its result is passed to `work`.
  template <typename Prepare, typename Work>
  void enter(Prepare&& prepare, Work work) {
    const std::shared_lock lock(*gate_);
    if (hasEntered_.exchange(true)) {
      return;
    }
    std::shared_ptr<Engine> engine = door_ ? door_->engine.lock() : std::move(engine_);
    if (!engine) {
      return;
    }
    auto prepared = prepare(*engine);
    const auto strand = engine->strand();
    boost::asio::post(strand, [target = std::move(engine), call = std::move(work),
                               given = std::move(prepared)]() mutable { call(*target, std::move(given)); });
  }

private:
  const std::shared_ptr<std::shared_mutex> gate_;
  // Null where `engine_` is not.
  const std::shared_ptr<RunLink<Engine>> door_;
  std::atomic<bool> hasEntered_{false};
  // Whoever enters takes it, with the gate held.
  std::shared_ptr<Engine> engine_;
};

}  // namespace ackbox::manager
