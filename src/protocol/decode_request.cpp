#include "protocol/agenium.hpp"
#include "protocol/binary_event.hpp"
#include "protocol/body_rules.hpp"
#include "protocol/decode_frame.hpp"
#include "protocol/json_reader.hpp"
#include "protocol/media_type.hpp"
#include "protocol/problem.hpp"
#include "protocol/wire.hpp"

namespace ackbox::protocol {
namespace {

/// Counts before anything is built: a body of empty objects would otherwise become a hundred times its size.
std::optional<InboundResponse> countProblem(std::string_view batch, const InboundOptions& limits) {
  ElementReader elements(batch);
  std::size_t count = 0;
  while (count <= limits.batchFramesMax && elements.next()) {
    ++count;
  }
  if (count == 0) {
    return problem(400, "Empty batch", "a batch holds at least one frame");
  }
  if (count > limits.batchFramesMax) {
    return limitProblem(413, "Too many frames", "send fewer frames at once", "maxframes", limits.batchFramesMax);
  }
  return std::nullopt;
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
  if (!decoded.batch) {
    decoded.frames.push_back(decodeFrame(body, limits.frameBytesMax));
    return decoded;
  }
  decoded.problem = countProblem(body, limits);
  if (decoded.problem) {
    return decoded;
  }
  ElementReader elements(body);
  while (const std::optional<std::string_view> element = elements.next()) {
    decoded.frames.push_back(decodeFrame(*element, limits.frameBytesMax));
  }
  return decoded;
}

}  // namespace ackbox::protocol
