#pragma once

#include <cstdint>
#include <future>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ackbox/inbound_handler.hpp"
#include "ackbox/sender.hpp"
#include "protocol/inbound_port.hpp"
#include "protocol/wire.hpp"

namespace ackbox::testing {

/// A session's frame of this number, behind the one before it.
[[nodiscard]] inline OutboundFrame outboundFrame(const std::string& session, std::uint64_t sequence,
                                                 const std::string& type = "test", const std::string& data = "{}") {
  OutboundFrame frame;
  frame.messageId = session + "-" + std::to_string(sequence);
  frame.session = session;
  frame.type = type;
  frame.data = data;
  frame.sequence = sequence;
  frame.previousSequence = sequence - 1;
  return frame;
}

/// Of alice, in her first epoch.
[[nodiscard]] inline SendRequest sendRequest(std::vector<OutboundFrame> frames) {
  SendRequest request;
  request.agent = "urn:agent:alice";
  request.origin = "0123456789abcdef0123456789abcdef";
  request.epoch = 1;
  request.frames = std::move(frames);
  return request;
}

/// As it arrives, without a signature.
[[nodiscard]] inline InboundRequest inboundRequest(const SendRequest& request) {
  protocol::EncodedRequest encoded = protocol::encodeRequest(request, "delivery-1");
  return {std::move(encoded.contentType), std::move(encoded.body), std::move(encoded.webhookId)};
}

/// Waits for the answer.
[[nodiscard]] inline InboundResponse answerTo(InboundHandler& handler, InboundRequest request) {
  std::promise<InboundResponse> answer;
  handler.asyncHandle(std::move(request), [&](InboundResponse response) { answer.set_value(std::move(response)); });
  return answer.get_future().get();
}

/// The same, in AGENIUM's form where the request is to its path.
[[nodiscard]] inline InboundResponse answerTo(InboundHandler& handler, InboundRequest request,
                                              std::string_view ageniumPath) {
  std::promise<InboundResponse> answer;
  const auto form = request.target == ageniumPath ? protocol::RequestForm::agenium : protocol::RequestForm::cloudEvents;
  protocol::InboundPort::of(handler).handle(
      std::move(request), [&](InboundResponse response) { answer.set_value(std::move(response)); },
      protocol::HandlerThread::store, form);
  return answer.get_future().get();
}

}  // namespace ackbox::testing
