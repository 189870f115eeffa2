#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ackbox/frame_handler.hpp"
#include "ackbox/inbound_frame.hpp"

namespace ackbox {

/// The final step of a deferred handler: decides in the short transaction, as a `FrameHandler` does.
using DeferredEffects = std::function<HandlerResult(InboundTransaction& transaction)>;

/// Called once at the end of a run. True: the end is in the file, where it survives a power cut. False: nothing could
/// be committed, and the frame is run again. Runs on the store's thread: it must neither block nor throw.
using DeferredDone = std::function<void(bool isCommitted)>;

/// A deferred frame, as its `DeferredHandler` gets it: work on it as long as it takes, without the store's lock, then
/// call `commit`. Copies refer to the same frame; if the last copy is destroyed without an answer, the run has failed.
///
/// A run that does not commit leaves no trace in the file and is repeated: without a charge after a crash, a shutdown
/// or a busy disk, with a charge after a failure. So effects in the commit happen once, effects elsewhere at least
/// once.
///
/// Thread-safety: all members may be called from any thread.
/// Lifetime: may outlive the `InboundHandler`; answers are then no longer accepted.
class DeferredFrame {
public:
  class Impl;
  explicit DeferredFrame(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

  [[nodiscard]] const InboundFrame& frame() const noexcept;

  /// Charged runs before this one.
  [[nodiscard]] std::uint32_t retryCount() const noexcept;

  /// Runs begun so far, including this one; more than `retryCount() + 1` means that some ended with their process.
  [[nodiscard]] std::uint32_t startCount() const noexcept;

  /// The id of the wish that the frame was given out for, see `DeferredDemand`; 0: its pool has no demand.
  [[nodiscard]] std::uint64_t wish() const noexcept;

  /// Reports that the work goes on, which restarts its deadline (`DeferredOptions::timeout`). Returns false when the
  /// work is no longer wanted, as `stopRequested`.
  bool progress();

  /// True once the deadline has passed or the handler is being destroyed: end soon. What is committed by then counts.
  [[nodiscard]] bool stopRequested() const noexcept;

  /// Runs `effects` in a short transaction that commits together with the end of the frame and the ACK event to its
  /// sender (P5 in ARCHITECTURE.md). `effects` must be short, as a `FrameHandler`, and may be run again if the disk
  /// fails; if it throws, the run has failed. Does not block.
  ///
  /// The result: `ack` and `reject` (`term`) end the frame; `notNow` is a failed run that is repeated after its
  /// `retryAfter` and the backoff; `defer` counts as `notNow`. Only an `ack` keeps what was written.
  ///
  /// Returns false if the call is too late: this frame was answered already, its deadline has passed, or the handler
  /// was destroyed. Then neither `effects` nor `done` is called.
  bool commit(DeferredEffects effects, DeferredDone done = {});

  /// As `commit`, without effects.
  bool finish(HandlerResult result, DeferredDone done = {});

  /// Ends this run without work done, so that the frame holds no place while it waits for something. Nothing is
  /// charged. The frame is given out again after `pause` at the earliest, behind the frames that are ready by then, or
  /// by another process before that. A frame older than the horizon of `DeferredOptions::retry` has failed instead,
  /// with code `horizon` and `reason` as the detail. Does not block.
  ///
  /// Returns false if the call is too late, as `commit`.
  bool giveBack(std::string reason = {}, std::chrono::milliseconds pause = std::chrono::milliseconds(0));

private:
  std::shared_ptr<Impl> impl_;
};

/// Which frames of a pool one consumer takes.
struct DeferredWish {
  /// Not 0. The id of a consumer that has gone is not used again.
  std::uint64_t id = 0;
  /// A type, or a prefix followed by `*`. Default: all of the pool.
  std::string types = "*";
  /// A session name, or a prefix followed by `*`; a frame outside any session has an empty name. Default: all.
  std::string sessions = "*";
  /// The number of frames it takes at once; 0: none for now. A frame counts until its last `DeferredFrame` is gone.
  std::size_t count = 0;
  /// In the demand of `DeferredMailboxes`: the agent whose frames it takes. Otherwise empty.
  std::string mailbox = {};
};

/// The wishes of the consumers of a `DeferredPool`. With it, a frame of the pool is given to the handler only when a
/// wish has room for it, and for that wish alone (`DeferredFrame::wish`), so that a frame without a consumer holds no
/// place and stays in the file. A frame that fits several wishes goes to the wish that has the fewest frames.
///
/// A frame that fits no wish has failed when it is older than the horizon, at most a minute late.
///
/// Thread-safety: all members may be called from any thread.
/// Lifetime: used by one pool of one `InboundHandler` at a time, and may outlive it; wishes stay for the next one.
class DeferredDemand {
public:
  class Impl;

  DeferredDemand();
  ~DeferredDemand();
  DeferredDemand(const DeferredDemand&) = delete;
  DeferredDemand& operator=(const DeferredDemand&) = delete;

  /// Adds the wish, or replaces the one with its id; frames given out for the replaced wish count for the new one.
  void want(DeferredWish wish);
  /// Ends the wish: no more frames are given out for it. Frames that it already has are not taken away.
  void unwant(std::uint64_t id);

  /// Up to `limit` types of waiting frames that fit no wish; empty if no frame waits for a consumer.
  [[nodiscard]] std::vector<std::string> unwantedTypes(std::size_t limit) const;
  /// Sets `call`, which is called each time a waiting frame fits no wish, after there was no such frame. Called on any
  /// thread; it must not block, throw or use this object. Set it before the `InboundHandler` is made.
  void onUnwanted(std::function<void()> call);

  /// For the library's own use.
  [[nodiscard]] Impl& impl() const noexcept { return *impl_; }

private:
  const std::unique_ptr<Impl> impl_;
};

}  // namespace ackbox
