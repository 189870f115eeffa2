#include "serve/inbox/event_json.hpp"

#include <string_view>

#include "json/writer.hpp"

namespace ackbox::serve {

std::string eventJson(const InboundFrame& frame) {
  std::string json;
  json::ObjectWriter event(json);
  event.text("specversion", "1.0");
  event.text("id", frame.id);
  event.text("source", frame.source);
  event.text("type", frame.type);
  if (frame.time) {
    event.time("time", *frame.time);
  }
  if (frame.expiresAt) {
    event.time("expirytime", *frame.expiresAt);
  }
  event.text("datacontenttype", frame.dataContentType.empty() ? "application/json" : frame.dataContentType);
  event.textIfAny("audience", frame.audience);
  event.textIfAny("traceparent", frame.traceparent);
  event.textIfAny("correlationid", frame.correlationId);
  event.textIfAny("resentof", frame.resentOf);
  if (frame.sequence != 0) {
    event.textIfAny("sessionid", frame.session);
    event.textIfAny("sessionorigin", frame.origin);
    event.counter("sessionepoch", frame.epoch);
    event.counter("sessionseq", frame.sequence);
    event.counter("sessionprev", frame.previousSequence);
  }
  event.raw("data", frame.data.empty() ? std::string_view("null") : std::string_view(frame.data));
  event.close();
  return json;
}

}  // namespace ackbox::serve
