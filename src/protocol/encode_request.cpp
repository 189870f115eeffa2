#include "base/hex.hpp"
#include "base/timestamp.hpp"
#include "json/writer.hpp"
#include "protocol/signature.hpp"
#include "protocol/wire.hpp"

namespace ackbox::protocol {
namespace {

// The usual size of an event's attributes: with it, most bodies are allocated only once.
constexpr std::size_t kUsualEnvelopeBytes = 512;

/// One member of an object, as JSON.
std::string member(std::string_view name, std::string_view text) {
  std::string json;
  json::ObjectWriter(json).text(name, text);
  return json.substr(1);
}

/// The members that all events of a request have in common.
struct Envelope {
  std::string source;
  /// Empty if it is not known.
  std::string audience;
  std::string session;

  explicit Envelope(const SendRequest& request)
      : source(member("source", request.agent)),
        audience(request.peerAgent.empty() ? std::string() : member("audience", request.peerAgent)),
        session(member("sessionorigin", request.origin) + "," + member("sessionepoch", std::to_string(request.epoch))) {
  }
};

void appendEvent(std::string& out, const Envelope& envelope, const OutboundFrame& frame) {
  json::ObjectWriter event(out);
  event.members(R"("specversion":"1.0")");
  event.text("id", frame.messageId);
  event.members(envelope.source);
  event.text("type", frame.type);
  event.time("time", frame.enqueuedAt);
  event.members(R"("datacontenttype":"application/json")");
  if (frame.expiresAt) {
    event.time("expirytime", *frame.expiresAt);
  }
  event.textIfAny("traceparent", frame.traceparent);
  event.textIfAny("correlationid", frame.correlationId);
  event.textIfAny("resentof", frame.resentOf);
  if (!envelope.audience.empty()) {
    event.members(envelope.audience);
  }
  if (frame.sequence != 0) {
    // CloudEvents has no empty attributes: the session with the empty name is sent without the attribute.
    event.textIfAny("sessionid", frame.session);
    event.members(envelope.session);
    event.counter("sessionseq", frame.sequence);
    event.counter("sessionprev", frame.previousSequence);
  }
  event.raw("data", frame.data.empty() ? std::string_view("null") : std::string_view(frame.data));
  event.close();
}

// Encodes an attribute as CloudEvents' HTTP binding requires: in UTF-8, percent-encoded except visible ASCII other than
// `"` and `%`.
std::string headerValue(std::string_view text) {
  std::string value;
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    if (byte > 0x20 && byte < 0x7f && letter != '"' && letter != '%') {
      value.push_back(letter);
    } else {
      appendPercent(value, letter);
    }
  }
  return value;
}

}  // namespace

EncodedRequest encodeBinaryRequest(const SendRequest& request, std::string_view delivery) {
  const OutboundFrame& frame = request.frames.front();
  EncodedRequest encoded;
  const auto add = [&encoded](std::string_view name, std::string_view text) {
    if (!text.empty()) {
      encoded.headers.emplace_back(std::string("ce-").append(name), headerValue(text));
    }
  };
  add("specversion", "1.0");
  add("id", frame.messageId);
  add("source", request.agent);
  add("type", frame.type);
  add("time", formatTimestamp(frame.enqueuedAt));
  add("expirytime", frame.expiresAt ? formatTimestamp(*frame.expiresAt) : std::string());
  add("traceparent", frame.traceparent);
  add("correlationid", frame.correlationId);
  add("resentof", frame.resentOf);
  add("audience", request.peerAgent);
  if (frame.sequence != 0) {
    add("sessionid", frame.session);
    add("sessionorigin", request.origin);
    add("sessionepoch", std::to_string(request.epoch));
    add("sessionseq", std::to_string(frame.sequence));
    add("sessionprev", std::to_string(frame.previousSequence));
  }
  encoded.contentType = kMediaTypeJson;
  encoded.webhookId = webhookIdOf(request, delivery);
  encoded.body = frame.data.empty() ? "null" : frame.data;
  return encoded;
}

// The receiver would refuse an id that begins like an answer's.
std::string_view webhookIdOf(const SendRequest& request, std::string_view delivery) {
  const bool isNamedByFrame =
      request.frames.size() == 1 && !std::string_view(request.frames.front().messageId).starts_with(kAnswerIdPrefix);
  return isNamedByFrame ? std::string_view(request.frames.front().messageId) : delivery;
}

EncodedRequest encodeRequest(const SendRequest& request, std::string_view delivery) {
  EncodedRequest encoded;
  std::size_t bytes = 2;
  for (const OutboundFrame& frame : request.frames) {
    bytes += frame.data.size() + kUsualEnvelopeBytes;
  }
  encoded.body.reserve(bytes);

  const Envelope envelope(request);
  encoded.webhookId = webhookIdOf(request, delivery);
  if (request.frames.size() == 1) {
    encoded.contentType = kMediaTypeFrame;
    appendEvent(encoded.body, envelope, request.frames.front());
    return encoded;
  }
  encoded.contentType = kMediaTypeBatch;
  char separator = '[';
  for (const OutboundFrame& frame : request.frames) {
    encoded.body.push_back(separator);
    appendEvent(encoded.body, envelope, frame);
    separator = ',';
  }
  encoded.body.append(request.frames.empty() ? "[]" : "]");
  return encoded;
}

}  // namespace ackbox::protocol
