#include <string_view>
#include <vector>

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

/// No more than one over the limit, before anything is built: a body of empty objects would otherwise become a hundred
/// times its size.
std::vector<std::string_view> elementsOf(std::string_view batch, const InboundOptions& limits) {
  std::vector<std::string_view> elements;
  ElementReader reader(batch);
  for (auto element = reader.next(); element; element = reader.next()) {
    elements.push_back(*element);
    if (elements.size() > limits.batchFramesMax) {
      break;
    }
  }
  return elements;
}

std::optional<InboundResponse> countProblem(std::size_t count, const InboundOptions& limits) {
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
  const std::vector<std::string_view> elements = elementsOf(body, limits);
  decoded.problem = countProblem(elements.size(), limits);
  if (decoded.problem) {
    return decoded;
  }
  decoded.frames.reserve(elements.size());
  for (const std::string_view element : elements) {
    decoded.frames.push_back(decodeFrame(element, limits.frameBytesMax));
  }
  return decoded;
}

}  // namespace ackbox::protocol
