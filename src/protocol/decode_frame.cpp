#include "protocol/decode_frame.hpp"

#include "protocol/attribute_reader.hpp"
#include "protocol/limits.hpp"
#include "protocol/media_type.hpp"

namespace ackbox::protocol {
namespace {

void readSession(AttributeReader& reader, InboundFrame& frame) {
  reader.text("sessionid", Need::optional, kSessionBytesMax, frame.session);
  reader.text("sessionorigin", Need::required, kIdBytesMax, frame.origin);
  reader.counter("sessionepoch", frame.epoch);
  reader.counter("sessionseq", frame.sequence);
  reader.counter("sessionprev", frame.previousSequence);
  reader.complainIf(frame.previousSequence >= frame.sequence, "sessionseq", "must be greater than sessionprev");
}

/// Reads the data by separate rules, because their codes are not `malformed`.
std::optional<FrameResult> readData(json::Members& members, std::size_t bytesMax, std::string& into) {
  if (members.find("data_base64")) {
    return refusalOf("unsupported-data", "data_base64 is not taken: send JSON in data");
  }
  if (const std::optional<std::string_view> type = members.find("datacontenttype");
      type && !isJsonMediaType(members.decode(*type).value_or(""))) {
    return refusalOf("unsupported-data", "datacontenttype must be a JSON media type");
  }
  const std::string_view data = members.find("data").value_or("null");
  if (data.size() > bytesMax) {
    return refusalOf("frame-too-large", "data is larger than " + std::to_string(bytesMax) + " bytes");
  }
  into = data;
  return std::nullopt;
}

}  // namespace

void decodeFrame(json::Members* members, std::size_t frameBytesMax, DecodedFrame& decoded) {
  if (members == nullptr) {
    decoded.refusal =
        refusalOf("malformed", "a frame must have distinct keys, at most " + std::to_string(json::kMembersMax));
    return;
  }

  InboundFrame& frame = decoded.frame;
  AttributeReader reader(*members);
  // The id comes first, because a refusal names the frame by it.
  reader.text("id", Need::required, kIdBytesMax, frame.id);
  std::string specVersion;
  reader.text("specversion", Need::required, kIdBytesMax, specVersion);
  reader.complainIf(specVersion != "1.0", "specversion", "must be 1.0");
  reader.text("source", Need::required, kAgentBytesMax, frame.source);
  reader.text("type", Need::required, kTypeBytesMax, frame.type);
  reader.time("time", frame.time);
  reader.time("expirytime", frame.expiresAt);
  reader.text("audience", Need::optional, kAgentBytesMax, frame.audience);
  reader.text("traceparent", Need::optional, kTraceparentBytesMax, frame.traceparent);
  reader.text("correlationid", Need::optional, kIdBytesMax, frame.correlationId);
  reader.text("resentof", Need::optional, kIdBytesMax, frame.resentOf);
  if (members->find("sessionseq")) {
    readSession(reader, frame);
  }
  decoded.refusal = reader.refusal();
  if (!decoded.refusal) {
    decoded.refusal = readData(*members, frameBytesMax, frame.data);
  }
}

}  // namespace ackbox::protocol
