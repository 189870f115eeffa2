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
  class Impl;
  explicit DeferredFrame(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

  [[nodiscard]] const InboundFrame& frame() const noexcept;

  /// Charged runs before this one.
  [[nodiscard]] std::uint32_t retryCount() const noexcept;

  /// Runs begun so far, with this one; more than `retryCount() + 1` means that some ended with their process.
  [[nodiscard]] std::uint32_t startCount() const noexcept;

  /// The id of the wish that it is for, see `DeferredDemand`; 0: its pool has no demand.
  [[nodiscard]] std::uint64_t wish() const noexcept;

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

  /// Ends this run without having worked on the frame, so that it holds no place while it waits for something. It is
  /// given out again after `pause` at the earliest, behind what is ready by then, or by another process before that,
  /// and charged nothing; but if it is older than `DeferredOptions::retry` has patience for, it is given up with code
  /// `horizon`, and `reason` is the detail. Does not block.
  ///
  /// Returns false when it comes too late, as `commit`.
  bool giveBack(std::string reason = {}, std::chrono::milliseconds pause = std::chrono::milliseconds(0));

private:
  std::shared_ptr<Impl> impl_;
};

/// Which frames of a pool one consumer takes.
struct DeferredWish {
  /// Not 0. One of a consumer that has gone is not used again.
  std::uint64_t id = 0;
  /// A type, or the beginning of types with `*` behind it. Default: all of the pool.
  std::string types = "*";
  /// The same of session names; that of a frame outside any session is empty. Default: all.
  std::string sessions = "*";
  /// How many it takes at once; 0: none for now. A frame counts until its last `DeferredFrame` has gone.
  std::size_t count = 0;
};

/// What the consumers of a `DeferredPool` want. With it, the pool's frames are given to the handler only as a wish has
/// room for them, each for one wish (`DeferredFrame::wish`), so that what nobody can work on holds no place and stays
/// in the file. Frames of several wishes go to the one that has the fewest.
///
/// A frame that is wished for by nobody is given up when it is older than the horizon, at most a minute late.
///
/// Thread-safety: all members may be called from any thread.
/// Lifetime: of one pool of one `InboundHandler` at a time, and may outlive it; wishes stay for the next one.
class DeferredDemand {
public:
  class Impl;

  DeferredDemand();
  ~DeferredDemand();
  DeferredDemand(const DeferredDemand&) = delete;
  DeferredDemand& operator=(const DeferredDemand&) = delete;

  /// Puts the wish in the place of the one with its id. What was taken for that one counts for it.
  void want(DeferredWish wish);
  /// Nothing more is taken for it. What it has is not taken away.
  void unwant(std::uint64_t id);

  /// Up to `limit` types of frames that wait and that no wish is for; empty: nothing waits for a consumer.
  [[nodiscard]] std::vector<std::string> unwantedTypes(std::size_t limit) const;
  /// `call` is called each time when a frame waits that no wish is for, after there was none. On any thread; it must
  /// not block, throw, nor use this object. To be set before the `InboundHandler` is made.
  void onUnwanted(std::function<void()> call);

  /// The library's own.
  [[nodiscard]] Impl& impl() const noexcept { return *impl_; }

private:
  const std::unique_ptr<Impl> impl_;
};

}  // namespace ackbox
