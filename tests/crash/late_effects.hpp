#pragma once

#include <condition_variable>
#include <deque>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>

#include "ackbox/inbound_handler.hpp"
#include "ledger.hpp"

namespace crash {

/// The defect that ackbox exists to avoid, added by hand: frames are acknowledged, and so marked as processed, before
/// their effects are written, later and on another thread and connection. A crash between the two loses the frame
/// silently.
class LateEffects {
public:
  explicit LateEffects(std::filesystem::path database);
  LateEffects(const LateEffects&) = delete;
  LateEffects& operator=(const LateEffects&) = delete;
  /// Writes the remaining effects: without a crash the defect does not show.
  ~LateEffects();

  [[nodiscard]] ackbox::FrameHandler handler(std::string replyTo);

private:
  void write();

  const std::filesystem::path database_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::deque<main_job::Entry> waiting_;
  bool ending_ = false;
  // Last, because the thread uses the other members.
  std::thread writer_;
};

}  // namespace crash
