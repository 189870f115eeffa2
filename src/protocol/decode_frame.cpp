#include "protocol/decode_frame.hpp"

#include "protocol/json_reader.hpp"
#include "protocol/limits.hpp"
#include "protocol/media_type.hpp"
#include "protocol/text_rules.hpp"
#include "protocol/timestamp.hpp"

namespace ackbox::protocol {
namespace {

enum class Need : bool { optional, required };

FrameResult refuse(std::string code, std::string detail) {
  FrameResult result;
  result.outcome = Outcome::term;
  result.code = std::move(code);
  result.detail = std::move(detail);
  return result;
}

/// Reads attributes one by one and keeps the first complaint; after one, the others are of no interest.
class AttributeReader {
public:
  explicit AttributeReader(const Members& members) : members_(members) {}

  void text(std::string_view name, Need need, std::size_t bytesMax, std::string& into) {
    const std::optional<std::string_view> raw = members_.find(name);
    if (!raw) {
      complainIf(need == Need::required, name, "is missing");
      return;
    }
    std::optional<std::string> value = decodeString(*raw);
    if (!value || value->empty() || !isPlainText(*value, bytesMax)) {
      complainIf(true, name,
                 "must be a string of 1 to " + std::to_string(bytesMax) + " bytes without control characters");
      return;
    }
    into = std::move(*value);
  }

  void time(std::string_view name, std::optional<WallTime>& into) {
    if (const std::optional<std::string_view> raw = members_.find(name)) {
      into = parseTimestamp(decodeString(*raw).value_or(std::string()));
      complainIf(!into, name, "must be an RFC 3339 time");
    }
  }

  void counter(std::string_view name, std::uint64_t& into) {
    const std::optional<std::string_view> raw = members_.find(name);
    const std::optional<std::uint64_t> value =
        raw ? parseCounter(decodeString(*raw).value_or(std::string())) : std::nullopt;
    complainIf(!value, name, "must be a decimal string from 0 to 9223372036854775807");
    into = value.value_or(0);
  }

  void complainIf(bool wrong, std::string_view name, std::string_view complaint) {
    if (wrong && !refusal_) {
      refusal_ = refuse("malformed", std::string(name) + " " + std::string(complaint));
    }
  }

  [[nodiscard]] const std::optional<FrameResult>& refusal() const noexcept { return refusal_; }

private:
  const Members& members_;
  std::optional<FrameResult> refusal_;
};

void readSession(AttributeReader& reader, InboundFrame& frame) {
  reader.text("sessionid", Need::optional, kSessionBytesMax, frame.session);
  reader.text("sessionorigin", Need::required, kIdBytesMax, frame.origin);
  reader.counter("sessionepoch", frame.epoch);
  reader.counter("sessionseq", frame.sequence);
  reader.counter("sessionprev", frame.previousSequence);
  reader.complainIf(frame.previousSequence >= frame.sequence, "sessionseq", "must be greater than sessionprev");
}

/// The data's own rules; apart, because their codes are not `malformed`.
std::optional<FrameResult> readData(const Members& members, std::size_t bytesMax, std::string& into) {
  if (members.find("data_base64")) {
    return refuse("unsupported-data", "data_base64 is not taken: send JSON in data");
  }
  if (const std::optional<std::string_view> type = members.find("datacontenttype");
      type && !isJsonMediaType(decodeString(*type).value_or(std::string()))) {
    return refuse("unsupported-data", "datacontenttype must be a JSON media type");
  }
  const std::string_view data = members.find("data").value_or("null");
  if (data.size() > bytesMax) {
    return refuse("frame-too-large", "data is larger than " + std::to_string(bytesMax) + " bytes");
  }
  into = data;
  return std::nullopt;
}

}  // namespace

DecodedFrame decodeFrame(std::string_view event, std::size_t frameBytesMax) {
  DecodedFrame decoded;
  if (kindOf(event) != JsonKind::object) {
    decoded.refusal = refuse("malformed", "a frame must be a JSON object");
    return decoded;
  }
  const std::optional<Members> members = Members::read(event);
  if (!members) {
    decoded.refusal = refuse("malformed", "a frame must have distinct keys, at most " + std::to_string(kMembersMax));
    return decoded;
  }

  InboundFrame& frame = decoded.frame;
  AttributeReader reader(*members);
  // The id first: a refusal names the frame by it.
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
  if (members->find("sessionseq")) {
    readSession(reader, frame);
  }
  decoded.refusal = reader.refusal();
  if (!decoded.refusal) {
    decoded.refusal = readData(*members, frameBytesMax, frame.data);
  }
  return decoded;
}

}  // namespace ackbox::protocol
