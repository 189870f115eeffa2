// Goal: no answer of a peer crashes the sender, and none settles a frame that it does not name, in order.
// Method: the first byte chooses status, media type and how many frames were sent; the rest is the answer's body, and
// the data of an ACK event.

#include <array>
#include <string>

#include "check.hpp"
#include "json/fault.hpp"
#include "protocol/ack_document.hpp"
#include "protocol/wire.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace ackbox;
  if (size == 0) {
    return 0;
  }
  constexpr std::array<int, 8> kStatuses{200, 202, 422, 503, 400, 413, 429, 301};
  SendRequest request;
  const std::size_t frames = 1 + (bytes[0] >> 3U) % 3;
  for (std::size_t index = 0; index < frames; ++index) {
    OutboundFrame frame;
    frame.messageId = std::string(1, static_cast<char>('a' + index));
    request.frames.push_back(std::move(frame));
  }
  const std::string_view body = fuzz::textOf(bytes + 1, size - 1);
  const char* type = (bytes[0] & 0x80U) != 0 ? "application/problem+json" : "application/json";
  const std::string_view retryAfter = body.substr(0, 12);
  const SendReport report = protocol::readAnswer(request, "d", kStatuses[bytes[0] % 8], type, retryAfter, body);
  fuzz::require(report.outcome != RequestOutcome::answered || report.results.size() == frames,
                "an answer has not one result per frame");
  fuzz::require(report.outcome != RequestOutcome::answered || body.find("\"d\"") != std::string_view::npos ||
                    frames == 1 || body.find('\\') != std::string_view::npos,
                "an answer to another delivery settles this one");
  if (json::isValid(body, 64)) {
    if (const auto event = protocol::readAckEvent(body)) {
      fuzz::require(!event->empty() && event->size() <= 256, "an ACK event has too many results");
      for (const protocol::NamedResult& named : *event) {
        const std::string again = protocol::encodeAckEvent(named.id, named.sequence, named.result, true);
        const auto same = protocol::readAckEvent(again);
        fuzz::require(same && same->size() == 1 && same->front().id == named.id &&
                          same->front().sequence == named.sequence &&
                          same->front().result.outcome == named.result.outcome,
                      "an ACK event changes on its way");
      }
    }
  }
  return 0;
}
