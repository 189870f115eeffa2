#include "transport/refusal.hpp"

#include <string>

#include "protocol/wire.hpp"

namespace ackbox::transport {
namespace {

// A problem document that also names the limit that was passed.
InboundResponse limitProblem(int status, std::string_view title, std::string_view detail, std::uint64_t bytesMax) {
  InboundResponse response = protocol::problem(status, title, detail);
  const std::size_t closing = response.body.rfind('}');
  if (closing != std::string::npos) {
    response.body.insert(closing, ",\"maxbytes\":" + std::to_string(bytesMax));
  }
  return response;
}

}  // namespace

InboundResponse badRequest(std::string_view detail) {
  return protocol::problem(400, "Bad request", detail);
}

InboundResponse notFound() {
  return protocol::problem(404, "Not found", "The inbox has another path.");
}

InboundResponse methodNotAllowed() {
  return protocol::problem(405, "Method not allowed", "Frames are posted.");
}

InboundResponse expectationFailed() {
  return protocol::problem(417, "Expectation failed", "The only expectation that is met is 100-continue.");
}

InboundResponse bodyTooLarge(std::uint64_t bodyBytesMax) {
  return limitProblem(413, "Body too large", "Send fewer or smaller frames.", bodyBytesMax);
}

InboundResponse headersTooLarge(std::uint64_t headerBytesMax) {
  return limitProblem(431, "Headers too large", "Send fewer or smaller headers.", headerBytesMax);
}

InboundResponse handlerFailed() {
  return protocol::problem(500, "Internal error", "The request could not be handled.");
}

InboundResponse handlerTooSlow() {
  return protocol::unavailable(false, "The request was not handled in time; it may still take effect once.");
}

}  // namespace ackbox::transport
