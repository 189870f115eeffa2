#include "protocol/agenium.hpp"

#include "json/reader.hpp"
#include "json/writer.hpp"
#include "protocol/attribute_reader.hpp"
#include "protocol/body_rules.hpp"
#include "protocol/limits.hpp"
#include "protocol/media_type.hpp"
#include "protocol/statuses.hpp"
#include "protocol/text_rules.hpp"

namespace ackbox::protocol {
namespace {

constexpr std::size_t kVersionBytesMax = 16;
// The year 9999, in milliseconds.
constexpr std::uint64_t kTimestampMax = 253'402'300'799'999;

/// The name by which handlers are found: a request's method, an event's name; otherwise the kind of the frame.
std::optional<std::string> nameOf(const std::string& kind, std::string_view payload) {
  if (kind != "EVENT" && kind != "REQUEST") {
    return kind;
  }
  std::optional<json::Members> members = json::Members::read(payload);
  const std::string_view name = members ? members->text(kind == "EVENT" ? "event" : "method").value_or("") : "";
  return !name.empty() && isPlainText(name, kTypeBytesMax) ? std::optional<std::string>(name) : std::nullopt;
}

/// The id of the message that an event `ACK` is for; nothing if the event names none.
std::optional<std::string> acknowledged(std::string_view payload) {
  const std::optional<json::Members> members = json::Members::read(payload);
  std::optional<json::Members> data = members ? json::Members::read(members->find("data").value_or("")) : std::nullopt;
  const std::string_view id = data ? data->text("msgId").value_or("") : "";
  return !id.empty() && isPlainText(id, kIdBytesMax) ? std::optional<std::string>(id) : std::nullopt;
}

void readTimestamp(const json::Members& members, AttributeReader& reader, InboundFrame& frame) {
  const std::optional<std::uint64_t> timestamp = parseCounter(members.find("timestamp").value_or(""));
  reader.complainIf(!timestamp || *timestamp > kTimestampMax, "timestamp", "must be whole milliseconds since 1970");
  if (!reader.refusal()) {
    frame.time = WallTime(std::chrono::milliseconds(static_cast<std::int64_t>(*timestamp)));
  }
}

void readPayload(std::string_view payload, const std::string& kind, std::size_t bytesMax, DecodedFrame& decoded) {
  std::optional<std::string> name = nameOf(kind, payload);
  if (!name) {
    decoded.refusal = refusalOf("malformed", "payload must name its event, or its method");
    return;
  }
  if (payload.size() > bytesMax) {
    decoded.refusal = refusalOf("frame-too-large", "payload is larger than " + std::to_string(bytesMax) + " bytes");
    return;
  }
  InboundFrame& frame = decoded.frame;
  if (kind != "EVENT" || *name != "ACK") {
    frame.type = *std::move(name);
    frame.data = payload;
    return;
  }
  const std::optional<std::string> id = acknowledged(payload);
  if (!id) {
    decoded.refusal = refusalOf("malformed", "an event ACK must name its message: data.msgId");
    return;
  }
  FrameResult result;
  result.outcome = Outcome::ack;
  frame.type = kAckEventType;
  frame.data = encodeAckEvent(*id, 0, result, false);
}

DecodedFrame decodeOne(std::string_view body, std::size_t frameBytesMax) {
  DecodedFrame decoded;
  std::optional<json::Members> members = json::Members::read(body);
  if (!members) {
    decoded.refusal = refusalOf("malformed", "a frame must be a JSON object with distinct keys");
    return decoded;
  }
  InboundFrame& frame = decoded.frame;
  AttributeReader reader(*members);
  reader.text("messageId", Need::required, kIdBytesMax, frame.id);
  std::string version;
  reader.text("version", Need::required, kVersionBytesMax, version);
  reader.complainIf(version != "1" && !version.starts_with("1."), "version", "must be 1, or 1 with a minor one");
  std::string kind;
  reader.text("type", Need::required, kTypeBytesMax, kind);
  if (members->find("sessionId").value_or("null") != R"("")") {
    reader.text("sessionId", Need::required, kSessionBytesMax, frame.session);
  }
  reader.text("replyTo", Need::optional, kIdBytesMax, frame.correlationId);
  readTimestamp(*members, reader, frame);
  const std::optional<std::string_view> payload = members->find("payload");
  reader.complainIf(!payload, "payload", "is missing");
  // An event of CloudEvents was meant for the other path.
  reader.complainIf(members->find("specversion").has_value(), "specversion", "belongs to an event of CloudEvents");
  decoded.refusal = reader.refusal();
  if (!decoded.refusal) {
    readPayload(*payload, kind, frameBytesMax, decoded);
  }
  return decoded;
}

}  // namespace

DecodedRequest decodeAgenium(const InboundRequest& request, const InboundOptions& limits) {
  DecodedRequest decoded;
  decoded.isAgenium = true;
  // AGENIUM's agents send no media type.
  if (!request.contentType.empty() && !isJsonMediaType(request.contentType)) {
    decoded.isRefusedByHeaders = true;
    decoded.problem = problem(415, "Unsupported media type", "send application/json");
    return decoded;
  }
  decoded.problem = bodyProblem(request.body, limits.bodyBytesMax, limits.depthMax);
  if (!decoded.problem) {
    decoded.frames.push_back(decodeOne(json::trim(request.body), limits.frameBytesMax));
    decoded.isRefusedByHeaders = decoded.frames.front().refusal.has_value();
  }
  return decoded;
}

InboundResponse encodeAgeniumAnswer(const FrameResult& result) {
  InboundResponse response;
  response.contentType = kMediaTypeAck;
  json::ObjectWriter answer(response.body);
  if (result.outcome == Outcome::ack || result.outcome == Outcome::defer) {
    // AGENIUM's sender accepts only 200 as success.
    answer.raw("ok", "true");
    if (result.duplicate) {
      answer.raw("duplicate", "true");
    }
  } else {
    setStatus(result, response);
    answer.raw("ok", "false");
    answer.text("error", result.code.empty() ? toString(result.outcome) : truncated(result.code, kCodeBytesMax));
    answer.textIfAny("detail", truncated(result.detail, kDetailBytesMax));
  }
  answer.close();
  return response;
}

}  // namespace ackbox::protocol
