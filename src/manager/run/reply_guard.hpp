#pragma once

#include <memory>
#include <utility>

#include "ackbox/sender.hpp"
#include "base/mutex.hpp"
#include "delivery/types.hpp"
#include "manager/run/run_handoff.hpp"

namespace ackbox::manager {

/// The object with which a sender answers one request. The first answer counts. If the sender drops it without an
/// answer, for example after an exception, the request has failed. A run that gives up does not wait for its senders,
/// so this object does not keep the run alive.
///
/// Thread-safety: `give` may be called from any thread.
template <typename Engine>
class ReplyGuard {
public:
  ReplyGuard(std::shared_ptr<SharedMutex> gate, std::shared_ptr<RunLink<Engine>> link, delivery::RequestId request)
      : handoff_(std::move(gate), std::move(link)), request_(request) {}
  ReplyGuard(const ReplyGuard&) = delete;
  ReplyGuard& operator=(const ReplyGuard&) = delete;
  ~ReplyGuard() {
    try {
      SendReport lost;
      lost.error = "the sender dropped the request without an answer";
      give(std::move(lost));
    } catch (...) {
      // Without memory for the answer, the request stays under way until the run ends.
      return;
    }
  }

  void give(SendReport&& report) {
    handoff_.enter(
        [&report](const Engine&) { return std::move(report); },
        [request = request_](Engine& engine, const SendReport& answer) { engine.answered(request, answer); });
  }

private:
  RunHandoff<Engine> handoff_;
  const delivery::RequestId request_;
};

}  // namespace ackbox::manager
