#include <string_view>

#include "protocol/agenium.hpp"
#include "protocol/attribute_reader.hpp"
#include "protocol/binary_event.hpp"
#include "protocol/body_rules.hpp"
#include "protocol/decode_frame.hpp"
#include "protocol/json_reader.hpp"
#include "protocol/media_type.hpp"
#include "protocol/problem.hpp"
#include "protocol/wire.hpp"

namespace ackbox::protocol {
namespace {

/// No more of them are read than are allowed: a body of empty objects would become a hundred times its size.
void decodeBatch(std::string_view batch, const InboundOptions& limits, DecodedRequest& decoded) {
  ElementReader elements(batch);
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
    if (elements.kind() == JsonKind::object) {
      decoded.frames.push_back(decodeFrame(elements.nextMembers(), limits.frameBytesMax));
    } else {
      decoded.frames.emplace_back().refusal = refusalOf("malformed", "a frame must be a JSON object");
      elements.next();
    }
  }
}

}  // namespace

DecodedRequest decodeRequest(const InboundRequest& request, const InboundOptions& limits) {
  if (request.form == InboundForm::agenium) {
    return decodeAgenium(request, limits);
  }
  if (isBinaryEvent(request)) {
    return decodeBinaryEvent(request, limits);
  }
  DecodedRequest decoded;
  decoded.batch = isMediaType(request.contentType, kMediaTypeBatch);
  if (!decoded.batch && !isMediaType(request.contentType, kMediaTypeFrame)) {
    decoded.problem = problem(415, "Unsupported media type",
                              "send application/cloudevents+json or application/cloudevents-batch+json");
    return decoded;
  }
  decoded.problem = bodyProblem(request.body, limits.bodyBytesMax, limits.depthMax);
  if (decoded.problem) {
    return decoded;
  }

  const std::string_view body = trimJson(request.body);
  if (kindOf(body) != (decoded.batch ? JsonKind::array : JsonKind::object)) {
    decoded.problem = problem(400, "Not a frame", decoded.batch ? "a batch is a JSON array" : "a frame is an object");
    return decoded;
  }
  if (decoded.batch) {
    decodeBatch(body, limits, decoded);
  } else {
    decoded.frames.push_back(decodeFrame(Members::read(body), limits.frameBytesMax));
  }
  return decoded;
}

}  // namespace ackbox::protocol
