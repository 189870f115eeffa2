#include "manager/facade/function_sender.hpp"

#include <atomic>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <exception>
#include <set>
#include <string>
#include <utility>

namespace ackbox::manager {
namespace {

// The sender that is calling its function in this thread.
thread_local const Sender* sendingFor = nullptr;

FrameResult callFor(const FrameFunction& function, const OutboundFrame& frame) {
  FrameResult failed;
  failed.outcome = Outcome::nack;
  failed.code = "send-failed";
  try {
    return function(frame);
  } catch (const std::exception& error) {
    failed.detail = error.what();
  } catch (...) {
    failed.detail = "the send function threw";
  }
  return failed;
}

FrameResult toFrameResult(const SendFunctionResult& answer) {
  FrameResult result;
  if (answer.success) {
    result.outcome = Outcome::ack;
    return result;
  }
  result.outcome = answer.isRetryable ? Outcome::nack : Outcome::term;
  result.code = answer.isRetryable ? "send-failed" : "rejected";
  result.detail = answer.error;
  result.decision = answer.decision;
  return result;
}

class FunctionSender final : public Sender {
public:
  explicit FunctionSender(FrameFunction function) : function_(std::move(function)) {}
  ~FunctionSender() override {
    ++generation_;
    pool_.join();
  }
  FunctionSender(const FunctionSender&) = delete;
  FunctionSender& operator=(const FunctionSender&) = delete;

  void asyncSend(SendRequest request, SendHandler handler) override {
    boost::asio::post(pool_, [this, generation = generation_.load(), sent = std::move(request),
                              done = std::move(handler)] { done(carryOrFail(sent, generation)); });
  }

  void stop() override { ++generation_; }

private:
  // An exception of the function fails its frame; any other exception, for lack of memory, fails the request.
  [[nodiscard]] SendReport carryOrFail(const SendRequest& request, std::uint64_t generation) const noexcept {
    try {
      return carry(request, generation);
    } catch (...) {
      sendingFor = nullptr;
      SendReport failed;
      failed.outcome = RequestOutcome::notSent;
      return failed;
    }
  }

  [[nodiscard]] SendReport carry(const SendRequest& request, std::uint64_t generation) const {
    SendReport report;
    std::set<std::string> failedSessions;
    for (const OutboundFrame& frame : request.frames) {
      if (generation != generation_.load()) {
        report.outcome = RequestOutcome::cancelled;
        report.error = "stopped";
        return report;
      }
      if (frame.sequence != 0 && failedSessions.contains(frame.session)) {
        FrameResult held;
        held.held = true;
        held.code = "held";
        report.results.push_back(std::move(held));
        continue;
      }
      sendingFor = this;
      report.results.push_back(callFor(function_, frame));
      sendingFor = nullptr;
      // Each unordered frame is a session of its own.
      if (report.results.back().outcome != Outcome::ack && frame.sequence != 0) {
        failedSessions.insert(frame.session);
      }
    }
    report.outcome = RequestOutcome::answered;
    return report;
  }

  const FrameFunction function_;
  // A stop increments it; work of an older generation ends at its next frame.
  std::atomic<std::uint64_t> generation_{0};
  boost::asio::thread_pool pool_{1};
};

}  // namespace

bool sendsInThisThread(const Sender* sender) noexcept {
  return sender != nullptr && sender == sendingFor;
}

std::shared_ptr<Sender> makeFrameSender(FrameFunction function) {
  return std::make_shared<FunctionSender>(std::move(function));
}

std::shared_ptr<Sender> makeFunctionSender(SendFunction function) {
  return makeFrameSender(
      [send = std::move(function)](const OutboundFrame& frame) { return toFrameResult(send(frame.session, frame)); });
}

}  // namespace ackbox::manager
