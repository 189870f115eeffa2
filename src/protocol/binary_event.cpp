#include "protocol/binary_event.hpp"

#include <algorithm>
#include <array>

#include "base/hex.hpp"
#include "json/reader.hpp"
#include "json/writer.hpp"
#include "protocol/attribute_reader.hpp"
#include "protocol/base64.hpp"
#include "protocol/body_rules.hpp"
#include "protocol/decode_frame.hpp"
#include "protocol/limits.hpp"
#include "protocol/media_type.hpp"
#include "protocol/problem.hpp"
#include "protocol/text_rules.hpp"

namespace ackbox::protocol {
namespace {

constexpr std::string_view kFormatPrefix = "application/cloudevents";
constexpr std::size_t kMediaTypeBytesMax = 256;
// In the other modes the event itself is one more level around the data.
constexpr std::size_t kEventNesting = 1;
constexpr std::array<std::string_view, 5> kSignedOnly{"sessionid", "sessionorigin", "sessionepoch", "sessionseq",
                                                      "sessionprev"};

/// RFC 7230, section 3.2.6: older senders quote values with spaces and quotes.
std::string unquoted(std::string_view value) {
  if (value.size() < 2 || value.front() != '"' || value.back() != '"') {
    return std::string(value);
  }
  std::string text;
  for (std::size_t at = 1; at + 1 < value.size(); ++at) {
    const bool escapes = value[at] == '\\' && at + 2 < value.size();
    text.push_back(value[escapes ? ++at : at]);
  }
  return text;
}

/// A `%` without a pair of digits stands for itself, for senders that do not encode.
std::string percentDecoded(std::string_view value) {
  std::string text;
  for (std::size_t at = 0; at < value.size(); ++at) {
    const std::optional<char> byte = value[at] == '%' ? percentAt(value, at) : std::nullopt;
    text.push_back(byte.value_or(value[at]));
    at += byte ? 2U : 0U;
  }
  return text;
}

bool isAttributeName(std::string_view name) noexcept {
  return !name.empty() && std::ranges::all_of(name, [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9');
  });
}

/// Why the headers do not form an event that may be sent in this mode; nothing if they do.
std::optional<FrameResult> headersProblem(const InboundRequest& request) {
  for (const auto& [name, value] : request.eventHeaders) {
    if (name == "data" || name == "datacontenttype") {
      return refusalOf("malformed",
                       "ce-" + name + " must not be a header: the body is the data, content-type its type");
    }
    if (std::ranges::find(kSignedOnly, name) != kSignedOnly.end()) {
      return refusalOf("malformed", name +
                                        " is not taken from a header, which no signature covers: send the event as " +
                                        std::string(kMediaTypeFrame));
    }
    if (!isPlainText(percentDecoded(unquoted(value)), kAgentBytesMax)) {
      return refusalOf("malformed", "ce-" + name + " must be UTF-8 without control characters, percent-encoded");
    }
  }
  return std::nullopt;
}

/// The attributes, written as in a structured event.
std::string structured(const InboundRequest& request) {
  std::string text;
  json::ObjectWriter event(text);
  for (const auto& [name, value] : request.eventHeaders) {
    if (isAttributeName(name)) {
      event.text(name, percentDecoded(unquoted(value)));
    }
  }
  event.close();
  return text;
}

/// Whether the body is a request of another mode or form. Its signature does not cover headers, so other headers would
/// make it another event. A batch is recognised by its first member.
bool isFrameItself(std::string_view body, std::size_t depthMax) {
  std::string_view text = json::trim(body);
  if (text.empty() || (text.front() != '{' && text.front() != '[')) {
    return false;
  }
  const json::Fault fault = json::findFault(text, depthMax);
  if (fault != json::Fault::none) {
    // A body that is too deep to be checked may be one.
    return fault == json::Fault::depth;
  }
  if (json::kindOf(text) == json::Kind::array) {
    text = json::ElementReader(text).next().value_or("null");
  }
  const std::optional<json::Members> members = json::Members::read(text);
  return members && (members->find("specversion") || (members->find("messageId") && members->find("payload")));
}

/// Fills in the data; returns the refusal if the data cannot be taken.
std::optional<FrameResult> takeData(const InboundRequest& request, bool isJson, std::size_t bytesMax,
                                    InboundFrame& frame) {
  if (isJson) {
    frame.data = request.body.empty() ? "null" : json::trim(request.body);
  } else {
    if (!isPlainText(request.contentType, kMediaTypeBytesMax)) {
      return refusalOf("malformed", "content-type must be at most 256 bytes");
    }
    if (request.body.size() > bytesMax) {
      return refusalOf("frame-too-large", "data is larger than " + std::to_string(bytesMax) + " bytes");
    }
    frame.dataContentType = request.contentType.empty() ? "application/octet-stream" : request.contentType;
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(request.body.data());
    frame.data = '"' + encodeBase64({bytes, request.body.size()}) + '"';
  }
  if (frame.data.size() > bytesMax) {
    return refusalOf("frame-too-large", "data is larger than " + std::to_string(bytesMax) + " bytes");
  }
  return std::nullopt;
}

}  // namespace

bool isBinaryEvent(const InboundRequest& request) noexcept {
  const bool namesFormat = startsWithWord(request.contentType, kFormatPrefix);
  return !namesFormat &&
         std::ranges::any_of(request.eventHeaders, [](const auto& header) { return header.first == "specversion"; });
}

DecodedRequest decodeBinaryEvent(const InboundRequest& request, const InboundOptions& limits) {
  DecodedRequest decoded;
  const bool isJson = isJsonMediaType(request.contentType);
  if (request.body.size() > limits.bodyBytesMax) {
    decoded.isRefusedByHeaders = true;
    decoded.problem = bodyTooLarge(limits.bodyBytesMax);
    return decoded;
  }
  if (isJson && !request.body.empty()) {
    decoded.problem = bodyProblem(request.body, limits.bodyBytesMax, limits.depthMax - kEventNesting);
    if (decoded.problem) {
      decoded.isRefusedByHeaders = true;
      return decoded;
    }
  }
  const std::string event = structured(request);
  std::optional<json::Members> members = json::Members::read(event);
  DecodedFrame& member = decoded.frames.emplace_back();
  decodeFrame(members ? &*members : nullptr, limits.frameBytesMax, member);
  if (std::optional<FrameResult> refusal = headersProblem(request)) {
    member.refusal = std::move(refusal);
  }
  if (!member.refusal && !request.webhookId.empty() && member.frame.id != request.webhookId) {
    member.refusal = refusalOf("malformed", "ce-id must be the webhook-id, which is what the signature covers");
  }
  if (!member.refusal && member.frame.type == kAckEventType) {
    member.refusal = refusalOf("malformed", "an ACK event must be sent as " + std::string(kMediaTypeFrame));
  }
  if (!member.refusal && isFrameItself(request.body, limits.depthMax)) {
    member.refusal = refusalOf("malformed", "the body is a frame itself: send it as " + std::string(kMediaTypeFrame));
  }
  if (!member.refusal) {
    member.refusal = takeData(request, isJson, limits.frameBytesMax, member.frame);
  }
  decoded.isRefusedByHeaders = member.refusal.has_value();
  return decoded;
}

}  // namespace ackbox::protocol
