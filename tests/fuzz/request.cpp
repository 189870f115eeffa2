// Goal: no request body crashes or stalls the decoder, and what it takes for a frame is one: encoded again and decoded
// again it is the same. Method: the first byte chooses the media type and the limits, the rest is the body.

#include <array>
#include <string>

#include "check.hpp"
#include "protocol/wire.hpp"

namespace {

using namespace ackbox;

bool isSame(const InboundFrame& one, const InboundFrame& other) {
  return one.id == other.id && one.source == other.source && one.type == other.type && one.data == other.data &&
         one.time == other.time && one.expiresAt == other.expiresAt && one.audience == other.audience &&
         one.session == other.session && one.origin == other.origin && one.epoch == other.epoch &&
         one.sequence == other.sequence && one.previousSequence == other.previousSequence &&
         one.traceparent == other.traceparent && one.correlationId == other.correlationId;
}

/// As its sender would have sent it; nothing when no sender of ours would.
void checkAgain(const InboundFrame& frame, const InboundOptions& limits) {
  if (!frame.time || (frame.sequence != 0 && frame.session.empty())) {
    return;
  }
  SendRequest request;
  request.agent = frame.source;
  request.peerAgent = frame.audience;
  request.origin = frame.origin;
  request.epoch = frame.epoch;
  OutboundFrame out;
  out.messageId = frame.id;
  out.session = frame.session;
  out.type = frame.type;
  out.data = frame.data;
  out.sequence = frame.sequence;
  out.previousSequence = frame.previousSequence;
  out.enqueuedAt = *frame.time;
  out.expiresAt = frame.expiresAt;
  out.traceparent = frame.traceparent;
  out.correlationId = frame.correlationId;
  request.frames.push_back(std::move(out));
  const protocol::EncodedRequest encoded = protocol::encodeRequest(request, "d");
  InboundRequest again;
  again.contentType = encoded.contentType;
  again.body = encoded.body;
  again.webhookId = encoded.webhookId;
  const protocol::DecodedRequest decoded = protocol::decodeRequest(again, limits);
  fuzz::require(!decoded.problem && decoded.frames.size() == 1, "a frame that was taken is refused when sent again");
  fuzz::require(!decoded.frames[0].refusal, "a frame that was taken is malformed when sent again");
  fuzz::require(isSame(decoded.frames[0].frame, frame), "a frame changes on its way");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  constexpr std::array<const char*, 4> kTypes{"application/cloudevents+json", "application/cloudevents-batch+json",
                                              "application/json", "application/cloudevents+json; charset=utf-8"};
  InboundRequest request;
  request.contentType = kTypes[bytes[0] % kTypes.size()];
  request.body = fuzz::textOf(bytes + 1, size - 1);
  request.webhookId = "w";
  InboundOptions limits;
  if (bytes[0] >= 128) {
    limits.depthMax = 4;
    limits.batchFramesMax = 2;
    limits.frameBytesMax = 64;
  }
  const protocol::DecodedRequest decoded = protocol::decodeRequest(request, limits);
  fuzz::require(decoded.frames.size() <= limits.batchFramesMax, "more frames than allowed");
  fuzz::require(!decoded.problem || decoded.problem->status >= 400, "a refusal that is none");
  InboundOptions roomy = limits;
  // What surrounds the data may be longer than it came.
  roomy.bodyBytesMax *= 8;
  for (const protocol::DecodedFrame& one : decoded.frames) {
    if (!one.refusal && !decoded.problem) {
      fuzz::require(one.frame.data.size() <= limits.frameBytesMax, "more data than allowed");
      checkAgain(one.frame, roomy);
    }
  }
  return 0;
}
