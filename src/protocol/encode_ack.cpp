#include <algorithm>

#include "json/fault.hpp"
#include "json/writer.hpp"
#include "protocol/ack_event.hpp"
#include "protocol/limits.hpp"
#include "protocol/statuses.hpp"
#include "protocol/text_rules.hpp"
#include "protocol/wire.hpp"

namespace ackbox::protocol {
namespace {

constexpr std::string_view kHeldCode = "held";

/// A result is sent if it is JSON that the sender can read and there is room for it; otherwise the detail says that it
/// was left out.
bool mayCarry(const std::string& result, std::size_t& room) {
  if (result.size() > room || !json::isValid(result, kAnswerDepthMax - kResultNesting)) {
    return false;
  }
  room -= result.size();
  return true;
}

void appendResult(std::string& out, std::string_view id, std::uint64_t sequence, const std::optional<WallTime>& time,
                  const FrameResult& result, std::size_t& room) {
  json::ObjectWriter entry(out);
  entry.text("id", id);
  if (sequence != 0) {
    entry.counter("sessionseq", sequence);
  }
  if (time) {
    entry.time("time", *time);
  }
  entry.text("outcome", toString(result.outcome));
  if (result.duplicate) {
    entry.raw("duplicate", "true");
  }
  entry.textIfAny("code", result.held ? kHeldCode : truncated(result.code, kCodeBytesMax));
  const bool carries = !result.result.empty() && mayCarry(result.result, room);
  if (!result.result.empty() && !carries && result.detail.empty()) {
    entry.text("detail", "the handler's result was left out: not JSON, nested too deep, or too large");
  } else {
    entry.textIfAny("detail", truncated(result.detail, kDetailBytesMax));
  }
  if (result.retryAfter) {
    entry.number("retryafterms", static_cast<std::uint64_t>(std::max<std::int64_t>(0, result.retryAfter->count())));
  }
  if (result.unattended) {
    entry.number("unattendedms", static_cast<std::uint64_t>(std::max<std::int64_t>(0, result.unattended->count())));
  }
  if (carries) {
    entry.raw("result", result.result);
  }
  entry.close();
}

void appendResults(std::string& out, std::span<const std::string_view> ids, std::span<const FrameResult> results) {
  std::size_t room = kResultBytesMax;
  out.push_back('[');
  // One result too few is safe: the sender settles nothing. A result without an id could not name its frame.
  for (std::size_t index = 0; index < std::min(ids.size(), results.size()); ++index) {
    if (index != 0) {
      out.push_back(',');
    }
    appendResult(out, ids[index], 0, {}, results[index], room);
  }
  out.push_back(']');
}

void appendSessions(std::string& out, std::span<const SessionProgress> sessions) {
  out.push_back('[');
  bool first = true;
  for (const SessionProgress& session : sessions) {
    if (!first) {
      out.push_back(',');
    }
    first = false;
    json::ObjectWriter entry(out);
    entry.text("id", session.id);
    entry.textIfAny("origin", session.origin);
    entry.counter("accepted", session.accepted);
    entry.textIfAny("acceptedid", session.acceptedId);
    entry.counter("settled", session.settled);
    entry.close();
  }
  out.push_back(']');
}

}  // namespace

std::string encodeAckEvent(std::span<const AckEventEntry> entries, bool carriesResults) {
  std::string data;
  std::size_t room = kResultBytesMax;
  json::ObjectWriter document(data);
  document.key("results");
  data.push_back('[');
  for (const AckEventEntry& entry : entries) {
    if (&entry != entries.data()) {
      data.push_back(',');
    }
    // On the wire, the event's own two levels are also around it.
    const bool fits =
        carriesResults && json::isValid(entry.result->result, kAnswerDepthMax - kResultNesting - kDataNesting);
    std::size_t none = 0;
    appendResult(data, entry.id, entry.sequence, entry.time, *entry.result, fits ? room : none);
  }
  data.push_back(']');
  document.close();
  return data;
}

std::string encodeAckEvent(std::string_view id, std::uint64_t sequence, const FrameResult& result, bool carriesResult,
                           std::optional<WallTime> time) {
  const AckEventEntry entry{id, sequence, &result, time};
  return encodeAckEvent({&entry, 1}, carriesResult);
}

InboundResponse encodeAck(const InboundRequest& request, bool batch, std::string_view storeId,
                          std::span<const std::string_view> frameIds, std::span<const FrameResult> results,
                          std::span<const SessionProgress> sessions, const InboundOptions& limits,
                          std::uint64_t storeEpoch) {
  InboundResponse response;
  response.contentType = kMediaTypeAck;
  if (!batch && !results.empty()) {
    setStatus(results.front(), response);
  }
  json::ObjectWriter document(response.body);
  document.text("outbox", kVersion);
  document.text("delivery", request.webhookId);
  document.text("store", storeId);
  if (storeEpoch != 0) {
    document.counter("storeepoch", storeEpoch);
  }
  document.key("results");
  appendResults(response.body, frameIds, results);
  document.key("sessions");
  appendSessions(response.body, sessions);
  document.key("credit");
  json::ObjectWriter credit(response.body);
  credit.number("frames", limits.batchFramesMax);
  credit.number("bytes", limits.bodyBytesMax);
  credit.close();
  document.close();
  return response;
}

}  // namespace ackbox::protocol
