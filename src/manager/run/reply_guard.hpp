#pragma once

#include <memory>
#include <utility>

#include "ackbox/sender.hpp"
#include "base/mutex.hpp"
#include "delivery/types.hpp"
#include "manager/run/run_handoff.hpp"

namespace ackbox::manager {

/// What a sender is given to answer one request with. The first answer counts. A sender that drops it without an
/// answer, such as one in which something threw, has failed at that request. A run that gives up does not wait for its
/// senders, so the run is kept by none of these.
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
      lost.error = "the sender let go of the request without an answer";
      give(std::move(lost));
    } catch (...) {
      // Without the memory to say so, the request stays under way until the run ends.
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
