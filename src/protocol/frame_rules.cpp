#include "json/fault.hpp"
#include "protocol/limits.hpp"
#include "protocol/text_rules.hpp"
#include "protocol/wire.hpp"

namespace ackbox::protocol {

std::optional<std::string> frameProblem(const Frame& frame, std::size_t depthMax) {
  if (!isPlainText(frame.session, kSessionBytesMax)) {
    return "session must be at most 256 bytes of UTF-8 without control characters";
  }
  if (frame.type.empty() || !isPlainText(frame.type, kTypeBytesMax)) {
    return "type must be 1 to 256 bytes of UTF-8 without control characters";
  }
  if (!isVisibleAscii(frame.id, kIdBytesMax)) {
    return "id must be at most 128 visible ASCII characters without spaces";
  }
  if (!isVisibleAscii(frame.traceparent, kTraceparentBytesMax)) {
    return "traceparent must be at most 256 visible ASCII characters";
  }
  if (!isPlainText(frame.correlationId, kIdBytesMax)) {
    return "correlationId must be at most 128 bytes of UTF-8 without control characters";
  }
  if (!isVisibleAscii(frame.resentOf, kIdBytesMax)) {
    return "resentOf must be at most 128 visible ASCII characters without spaces";
  }
  if (frame.priority > kPriorityMax) {
    return "priority must be 0 to 9";
  }
  if (!isPlainText(frame.idempotencyKey, kKeyBytesMax)) {
    return "idempotencyKey must be at most 256 bytes of UTF-8 without control characters";
  }
  if (!isPlainText(frame.supersedeKey, kKeyBytesMax)) {
    return "supersedeKey must be at most 256 bytes of UTF-8 without control characters";
  }
  if (!frame.supersedeKey.empty() && frame.session.empty()) {
    return "supersedeKey needs a session: without order an older frame could arrive after a newer one";
  }
  if (frame.notBefore && frame.expiresAt && *frame.notBefore >= *frame.expiresAt) {
    return "notBefore must lie before expiresAt, or the frame could never be sent";
  }
  // The receiver also counts the wire's own levels: data that is stored here must be readable there.
  const std::size_t dataDepthMax = depthMax > kDataNesting ? depthMax - kDataNesting : 0;
  if (!frame.data.empty() && !json::isValid(frame.data, dataDepthMax)) {
    return "data must be JSON text in UTF-8, nested at most " + std::to_string(dataDepthMax) + " levels deep";
  }
  return std::nullopt;
}

}  // namespace ackbox::protocol
