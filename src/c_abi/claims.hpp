#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>

#include "ackbox/deferred_frame.hpp"
#include "base/mutex.hpp"
#include "c_abi/readiness.hpp"

namespace ackbox::c_abi {

/// Frames on their way to the program: those that wait to be claimed, and those that it has claimed.
///
/// Thread-safety: all members may be called from any thread.
class Claims {
public:
  struct Claim {
    /// From 1; never used again.
    std::uint64_t number = 0;
    DeferredFrame frame;
  };

  explicit Claims(std::shared_ptr<Readiness> readiness) : readiness_(std::move(readiness)) {}

  void add(DeferredFrame frame);
  /// Claims the oldest frame that waits; nothing: none waits. The claim keeps a copy of the frame.
  [[nodiscard]] std::optional<Claim> next();
  /// Ends the claim; nothing: there is no such claim.
  [[nodiscard]] std::optional<DeferredFrame> take(std::uint64_t number);
  /// Puts every frame back without a charge, and from now on each that is added.
  void close();

private:
  const std::shared_ptr<Readiness> readiness_;
  Mutex mutex_;
  std::deque<DeferredFrame> waiting_ ACKBOX_GUARDED_BY(mutex_);
  std::map<std::uint64_t, DeferredFrame> claimed_ ACKBOX_GUARDED_BY(mutex_);
  std::uint64_t lastNumber_ ACKBOX_GUARDED_BY(mutex_) = 0;
  bool isClosed_ ACKBOX_GUARDED_BY(mutex_) = false;
};

}  // namespace ackbox::c_abi
