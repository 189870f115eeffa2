#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "ackbox/sender.hpp"

namespace ackbox::testing {

/// A peer that a test controls: keeps the sent frames, and answers each request as the script says.
///
/// Thread-safety: the accessors may be called from any thread.
class ScriptedSender final : public Sender {
public:
  using Script = std::function<SendReport(const SendRequest&)>;

  explicit ScriptedSender(Script script) : script_(std::move(script)) {}

  /// Answers `outcome` for every frame of a request.
  [[nodiscard]] static SendReport all(const SendRequest& request, Outcome outcome, std::string code = {}) {
    SendReport report;
    report.outcome = RequestOutcome::answered;
    for (std::size_t index = 0; index < request.frames.size(); ++index) {
      FrameResult result;
      result.outcome = outcome;
      result.code = code;
      report.results.push_back(result);
    }
    return report;
  }

  /// The report of a request that was refused or not answered.
  [[nodiscard]] static SendReport failed(RequestOutcome outcome, std::string error) {
    SendReport report;
    report.outcome = outcome;
    report.error = std::move(error);
    return report;
  }

  /// Answers every request with `outcome`.
  [[nodiscard]] static std::shared_ptr<ScriptedSender> always(Outcome outcome) {
    return std::make_shared<ScriptedSender>([outcome](const SendRequest& request) { return all(request, outcome); });
  }

  void asyncSend(SendRequest request, SendHandler handler) override {
    SendReport report;
    {
      const std::scoped_lock lock(mutex_);
      for (const OutboundFrame& frame : request.frames) {
        frames_.push_back(frame);
      }
      ++requests_;
      report = script_(request);
    }
    changed_.notify_all();
    handler(std::move(report));
  }

  [[nodiscard]] std::vector<OutboundFrame> frames() const {
    const std::scoped_lock lock(mutex_);
    return frames_;
  }
  [[nodiscard]] std::size_t requests() const {
    const std::scoped_lock lock(mutex_);
    return requests_;
  }
  void setScript(Script script) {
    const std::scoped_lock lock(mutex_);
    script_ = std::move(script);
  }
  void waitForFrames(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return frames_.size() >= count; });
  }

private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  Script script_;
  std::vector<OutboundFrame> frames_;
  std::size_t requests_ = 0;
};

/// Does not answer until the run stops.
class SilentSender final : public Sender {
public:
  void asyncSend(SendRequest request, SendHandler handler) override {
    const std::scoped_lock lock(mutex_);
    frames_ += request.frames.size();
    waiting_.push_back(std::move(handler));
    changed_.notify_all();
  }
  void stop() override {
    std::vector<SendHandler> waiting;
    {
      const std::scoped_lock lock(mutex_);
      waiting.swap(waiting_);
    }
    for (const SendHandler& handler : waiting) {
      SendReport report;
      report.outcome = RequestOutcome::cancelled;
      handler(std::move(report));
    }
  }
  void waitForFrames(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return frames_ >= count; });
  }
  [[nodiscard]] std::size_t frames() const {
    const std::scoped_lock lock(mutex_);
    return frames_;
  }

private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::vector<SendHandler> waiting_;
  std::size_t frames_ = 0;
};

}  // namespace ackbox::testing
