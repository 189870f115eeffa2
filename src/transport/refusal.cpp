#include "transport/refusal.hpp"

#include "protocol/problem.hpp"
#include "protocol/wire.hpp"

namespace ackbox::transport {

InboundResponse badRequest(std::string_view detail) {
  return protocol::problem(400, "Bad request", detail);
}

InboundResponse notFound() {
  return protocol::problem(404, "Not found", "The inbox has another path.");
}

InboundResponse methodNotAllowed() {
  InboundResponse response = protocol::problem(405, "Method not allowed", "Frames are posted.");
  response.headers.emplace_back("Allow", "POST");
  return response;
}

InboundResponse codedContent() {
  InboundResponse response =
      protocol::problem(415, "Unsupported content coding", "Send the body as it is, without a content coding.");
  response.headers.emplace_back("Accept-Encoding", "identity");
  return response;
}

InboundResponse expectationFailed() {
  return protocol::problem(417, "Expectation failed", "The only expectation that is met is 100-continue.");
}

InboundResponse bodyTooLarge(std::uint64_t bodyBytesMax) {
  const char* const remedy = bodyBytesMax == 0 ? "Send this request without a body." : "Send fewer or smaller frames.";
  return protocol::limitProblem(413, "Body too large", remedy, "maxbytes", bodyBytesMax);
}

InboundResponse headersTooLarge(std::uint64_t headerBytesMax) {
  return protocol::limitProblem(431, "Headers too large", "Send fewer or smaller headers.", "maxbytes", headerBytesMax);
}

InboundResponse handlerFailed() {
  return protocol::problem(500, "Internal error", "The request could not be handled.");
}

InboundResponse handlerTooSlow() {
  return protocol::unavailable(false, "The request was not handled in time; it may still take effect once.");
}

InboundResponse noRoom() {
  return protocol::unavailable(false, "The requests under way take all memory that they may.");
}

}  // namespace ackbox::transport
