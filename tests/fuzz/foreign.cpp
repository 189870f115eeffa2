// Goal: no event in CloudEvents' binary mode and no frame of AGENIUM's crashes or stalls its decoder, and what is taken
// for one is JSON within the limits, and claims nothing that a header must not. Method: the first byte chooses the form
// and the limits; for binary mode lines follow, each an attribute, a colon and its value, up to an empty one; the rest
// is the body.

#include <array>
#include <string>
#include <utility>

#include "check.hpp"
#include "json/fault.hpp"
#include "protocol/agenium.hpp"
#include "protocol/limits.hpp"
#include "protocol/wire.hpp"

namespace {

using namespace ackbox;

/// Takes the attributes off the front of `text`.
void readHeaders(std::string_view& text, InboundRequest& request) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) {
      return;
    }
    const std::size_t colon = std::min(line.find(':'), line.size());
    request.eventHeaders.emplace_back(line.substr(0, colon), line.substr(std::min(colon + 1, line.size())));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  constexpr std::array<const char*, 4> kTypes{"application/json", "text/plain", "", "application/x; charset=utf-8"};
  std::string_view text = fuzz::textOf(bytes + 1, size - 1);
  const bool isAgenium = bytes[0] % 2 == 1;
  InboundRequest request;
  request.contentType = kTypes[bytes[0] / 2U % kTypes.size()];
  if (!isAgenium) {
    // Else it is no event in binary mode.
    request.eventHeaders.emplace_back("specversion", "1.0");
    readHeaders(text, request);
  }
  request.body = text;
  InboundOptions limits{.binaryMode = true};
  if (bytes[0] >= 128) {
    limits.depthMax = 4;
    limits.frameBytesMax = 64;
  }
  const protocol::DecodedRequest decoded =
      isAgenium ? protocol::decodeAgenium(request, limits) : protocol::decodeRequest(request, limits);
  fuzz::require(!decoded.batch && decoded.frames.size() <= 1, "one request carries more than one frame");
  fuzz::require(decoded.problem.has_value() != (decoded.frames.size() == 1), "neither a frame nor a problem, or both");
  for (const protocol::DecodedFrame& one : decoded.frames) {
    if (one.refusal) {
      const InboundResponse answer = protocol::encodeAgeniumAnswer(*one.refusal);
      fuzz::require(json::isValid(answer.body, 2), "a refusal in AGENIUM's form is no JSON");
      continue;
    }
    const InboundFrame& frame = one.frame;
    const bool isAckEvent = frame.type == protocol::kAckEventType;
    fuzz::require(!frame.id.empty() && !frame.type.empty(), "a frame without an id or a type is taken");
    fuzz::require(json::isValid(frame.data, limits.depthMax) || isAckEvent, "a frame's data is no JSON");
    fuzz::require(frame.data.size() <= limits.frameBytesMax || isAckEvent, "more data than allowed");
    fuzz::require(frame.sequence == 0 && frame.origin.empty(), "a place in a session comes by a way without one");
    fuzz::require(isAgenium || (frame.session.empty() && !isAckEvent), "a header claims what no signature covers");
  }
  return 0;
}
