#include <algorithm>
#include <optional>
#include <string_view>

#include "json/reader.hpp"
#include "protocol/attribute_reader.hpp"
#include "protocol/binary_event.hpp"
#include "protocol/body_rules.hpp"
#include "protocol/decode_frame.hpp"
#include "protocol/media_type.hpp"
#include "protocol/problem.hpp"
#include "protocol/wire.hpp"

namespace ackbox::protocol {
namespace {

/// Reads at most the allowed number of frames: a body of empty objects would grow a hundredfold in memory.
void decodeBatch(std::string_view batch, const InboundOptions& limits, DecodedRequest& decoded) {
  json::ElementReader elements(batch);
  json::Members members;
  if (elements.atEnd()) {
    decoded.problem = problem(400, "Empty batch", "a batch holds at least one frame");
  }
  while (!elements.atEnd()) {
    if (decoded.frames.size() == limits.batchFramesMax) {
      decoded.frames.clear();
      decoded.problem =
          limitProblem(413, "Too many frames", "send fewer frames at once", "maxframes", limits.batchFramesMax);
      return;
    }
    if (decoded.frames.size() == 1) {
      // Most batches have frames of one size, so the first frame gives an estimate of their number.
      const std::size_t bytes = batch.size() - elements.left();
      decoded.frames.reserve(std::min(limits.batchFramesMax, batch.size() / bytes + 1));
    }
    if (elements.kind() == json::Kind::object) {
      const bool isRead = elements.nextMembers(members);
      decodeFrame(isRead ? &members : nullptr, limits.frameBytesMax, decoded.frames.emplace_back());
    } else {
      decoded.frames.emplace_back().refusal = refusalOf("malformed", "a frame must be a JSON object");
      elements.next();
    }
  }
}

}  // namespace

DecodedRequest decodeRequest(const InboundRequest& request, const InboundOptions& limits) {
  DecodedRequest decoded;
  if (isBinaryEvent(request)) {
    if (limits.binaryMode) {
      return decodeBinaryEvent(request, limits);
    }
    decoded.isRefusedByHeaders = true;
    decoded.problem = problem(415, "Unsupported media type",
                              "events in binary mode are not taken here: send application/cloudevents+json");
    return decoded;
  }
  decoded.batch = isMediaType(request.contentType, kMediaTypeBatch);
  if (!decoded.batch && !isMediaType(request.contentType, kMediaTypeFrame)) {
    decoded.isRefusedByHeaders = true;
    decoded.problem = problem(415, "Unsupported media type",
                              "send application/cloudevents+json or application/cloudevents-batch+json");
    return decoded;
  }
  decoded.problem = bodyProblem(request.body, limits.bodyBytesMax, limits.depthMax);
  if (decoded.problem) {
    return decoded;
  }

  const std::string_view body = json::trim(request.body);
  if (json::kindOf(body) != (decoded.batch ? json::Kind::array : json::Kind::object)) {
    decoded.isRefusedByHeaders = true;
    decoded.problem = problem(400, "Not a frame", decoded.batch ? "a batch is a JSON array" : "a frame is an object");
    return decoded;
  }
  if (decoded.batch) {
    decodeBatch(body, limits, decoded);
  } else {
    std::optional<json::Members> members = json::Members::read(body);
    decodeFrame(members ? &*members : nullptr, limits.frameBytesMax, decoded.frames.emplace_back());
  }
  return decoded;
}

}  // namespace ackbox::protocol
