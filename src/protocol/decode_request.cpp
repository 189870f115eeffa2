#include "protocol/decode_frame.hpp"
#include "protocol/json_reader.hpp"
#include "protocol/json_text.hpp"
#include "protocol/media_type.hpp"
#include "protocol/problem.hpp"
#include "protocol/wire.hpp"

namespace ackbox::protocol {
namespace {

/// Why the request is refused whatever its frames say; nothing when it may be taken apart.
std::optional<InboundResponse> bodyProblem(const InboundRequest& request, const InboundOptions& limits) {
  if (request.body.size() > limits.bodyBytesMax) {
    return bodyTooLarge(limits.bodyBytesMax);
  }
  switch (findFault(request.body, limits.depthMax)) {
    case JsonFault::none:
      return std::nullopt;
    case JsonFault::syntax:
      return problem(400, "Not JSON", "the body is not JSON text by RFC 8259");
    case JsonFault::encoding:
      return problem(400, "Not JSON", "the body is not UTF-8");
    case JsonFault::depth:
      return limitProblem(400, "Nested too deep", "the body has too many levels", "maxdepth", limits.depthMax);
  }
  return std::nullopt;
}

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
  DecodedRequest decoded;
  decoded.batch = isMediaType(request.contentType, kMediaTypeBatch);
  if (!decoded.batch && !isMediaType(request.contentType, kMediaTypeFrame)) {
    decoded.problem = problem(415, "Unsupported media type",
                              "send application/cloudevents+json or application/cloudevents-batch+json");
    return decoded;
  }
  decoded.problem = bodyProblem(request, limits);
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
