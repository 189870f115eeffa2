#pragma once

#include <boost/asio/post.hpp>
#include <memory>
#include <mutex>
#include <utility>

namespace ackbox::manager {

/// Carries one result from another thread (the writer's, a sender's) to an engine's strand, and lets go of the engine
/// there and then. A run completes only after passing the same gate, so once its owner is told of the end, no other
/// thread can touch its executor any more, or be the last to hold the engine.
///
/// Thread-safety: `enter` may be called from any thread; copies of the pointer to it may outlive the run.
template <typename Engine>
class Crossing {
public:
  Crossing(std::shared_ptr<std::mutex> gate, std::shared_ptr<Engine> engine)
      : gate_(std::move(gate)), engine_(std::move(engine)) {}

  /// Posts `work(Engine&)` to the strand; the first call does, later ones do nothing. `prepare(Engine&)` runs before,
  /// in the calling thread, and its result is passed to `work`.
  template <typename Prepare, typename Work>
  void enter(Prepare&& prepare, Work work) {
    const std::scoped_lock lock(*gate_);
    std::shared_ptr<Engine> engine = std::move(engine_);
    if (!engine) {
      return;
    }
    auto prepared = prepare(*engine);
    const auto strand = engine->strand();
    boost::asio::post(strand, [target = std::move(engine), call = std::move(work),
                               given = std::move(prepared)]() mutable { call(*target, std::move(given)); });
  }

private:
  const std::shared_ptr<std::mutex> gate_;
  // Guarded by *gate_.
  std::shared_ptr<Engine> engine_;
};

}  // namespace ackbox::manager
