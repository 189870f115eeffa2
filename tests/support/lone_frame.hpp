#pragma once

#include <chrono>
#include <future>
#include <string>
#include <utility>

#include "ackbox/sender.hpp"

namespace ackbox::testing {

/// A request to `url` with alice's frame of this number, in its own session.
[[nodiscard]] inline SendRequest loneFrame(std::string url, int number) {
  SendRequest request;
  request.url = std::move(url);
  request.agent = "urn:agent:alice";
  request.origin = "origin-1";
  request.epoch = 1;
  request.timeout = std::chrono::seconds(20);
  OutboundFrame& frame = request.frames.emplace_back();
  frame.messageId = "message-" + std::to_string(number);
  frame.session = frame.messageId;
  frame.type = "test";
  frame.data = "{}";
  frame.sequence = 1;
  return request;
}

/// Sends the request and waits for its report.
[[nodiscard]] inline SendReport sendAndWait(Sender& sender, SendRequest request) {
  std::promise<SendReport> promise;
  sender.asyncSend(std::move(request), [&](SendReport report) { promise.set_value(std::move(report)); });
  return promise.get_future().get();
}

/// Whether the one frame was acknowledged.
[[nodiscard]] inline bool isAcknowledged(const SendReport& report) {
  return report.outcome == RequestOutcome::answered && report.results.size() == 1 &&
         report.results[0].outcome == Outcome::ack;
}

}  // namespace ackbox::testing
