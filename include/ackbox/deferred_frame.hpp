#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "ackbox/frame_handler.hpp"
#include "ackbox/inbound_frame.hpp"

namespace ackbox {

/// What a deferred handler commits in the end: decides in the short transaction, as a `FrameHandler` does.
using DeferredEffects = std::function<HandlerResult(InboundTransaction& transaction)>;

/// Is called once with whether the end of a run is in the file, where it survives a power cut; false: nothing could be
/// committed, and the frame is run again. Runs on the store's thread: it must not block, nor throw.
using DeferredDone = std::function<void(bool isCommitted)>;

/// A frame that was deferred, in the hands of its `DeferredHandler`: work on it as long as it takes, off the store's
/// lock, then `commit`. Copies are the same frame; the last one that goes away without an answer is a failed run.
///
/// A run that does not commit leaves no trace in the file and is made again: after a crash, a shutdown or a busy disk
/// without a charge, after a failure with one. So effects in the commit happen once, effects elsewhere at least once.
///
/// Thread-safety: all members may be called from any thread.
/// Lifetime: may outlive the `InboundHandler`; then nothing is taken any more.
class DeferredFrame {
public:
  class Body;
  explicit DeferredFrame(std::shared_ptr<Body> body) : body_(std::move(body)) {}

  [[nodiscard]] const InboundFrame& frame() const noexcept;

  /// Charged runs before this one.
  [[nodiscard]] std::uint32_t retryCount() const noexcept;

  /// Runs begun so far, with this one; more than `retryCount() + 1` means that some ended with their process.
  [[nodiscard]] std::uint32_t startCount() const noexcept;

  /// Reports that the work goes on: its deadline begins anew (`DeferredOptions::timeout`). Returns false when the work
  /// is no longer wanted, as `stopRequested`.
  bool progress();

  /// True once the deadline has passed or the handler is being destroyed: end soon. What is committed by then counts.
  [[nodiscard]] bool stopRequested() const noexcept;

  /// Runs `effects` in a short transaction that commits together with the end of the frame and the ACK event to its
  /// sender (P5 in ARCHITECTURE.md). It must be short, as a `FrameHandler`. It may be run again if the disk fails; what
  /// it throws is a failed run. Does not block.
  ///
  /// The result: `ack` and `reject` (`term`) end the frame, `notNow` is a failed run that is made again after its
  /// `retryAfter` and the backoff, `defer` counts as `notNow`. Only an `ack` keeps what was written.
  ///
  /// Returns false when it comes too late: this frame was answered already, its deadline has passed, or the handler has
  /// gone. Then neither `effects` nor `done` is called.
  bool commit(DeferredEffects effects, DeferredDone done = {});

  /// `commit` without anything to write.
  bool finish(HandlerResult result, DeferredDone done = {});

private:
  std::shared_ptr<Body> body_;
};

}  // namespace ackbox
