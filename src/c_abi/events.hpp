#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "ackbox/events.hpp"
#include "base/mutex.hpp"
#include "c_abi/readiness.hpp"

namespace ackbox::c_abi {

/// The ends of messages, as JSON, until the program reads them. Bounded: the oldest are dropped.
///
/// Thread-safety: all members may be called from any thread.
class Events {
public:
  explicit Events(std::shared_ptr<Readiness> readiness) : readiness_(std::move(readiness)) {}

  void add(const AckedEvent& event);
  void add(const FailedEvent& event);
  /// The oldest event; nothing: none waits.
  [[nodiscard]] std::optional<std::string> next();

private:
  void push(std::string json);

  const std::shared_ptr<Readiness> readiness_;
  Mutex mutex_;
  std::deque<std::string> events_ ACKBOX_GUARDED_BY(mutex_);
  std::size_t bytes_ ACKBOX_GUARDED_BY(mutex_) = 0;
  // Events that were dropped since the last one was read.
  std::uint64_t missed_ ACKBOX_GUARDED_BY(mutex_) = 0;
};

}  // namespace ackbox::c_abi
