#include "serve/api/cloud_event.hpp"

#include <array>
#include <optional>
#include <string>
#include <utility>

#include "ackbox/clock.hpp"
#include "base/timestamp.hpp"
#include "json/checked.hpp"

namespace ackbox::serve {
namespace {

// Attributes that an enqueue sets itself, or that mean nothing to a peer.
constexpr std::array<std::string_view, 5> kPassedOver = {"source", "time", "datacontenttype", "dataschema", "subject"};

std::string* textAttribute(Frame& frame, std::string_view name) {
  if (name == "id") {
    return &frame.id;
  }
  if (name == "type") {
    return &frame.type;
  }
  if (name == "peer") {
    return &frame.peer;
  }
  if (name == "session") {
    return &frame.session;
  }
  if (name == "traceparent") {
    return &frame.traceparent;
  }
  if (name == "correlationid") {
    return &frame.correlationId;
  }
  if (name == "resentof") {
    return &frame.resentOf;
  }
  if (name == "supersedekey") {
    return &frame.supersedeKey;
  }
  return name == "idempotencykey" ? &frame.idempotencyKey : nullptr;
}

/// Reads one attribute into the frame. Returns what is wrong with it; empty if it was read.
std::string take(Frame& frame, json::Members& members, std::string_view name, std::string_view value) {
  if (name == "data") {
    frame.data = value;
    return {};
  }
  if (name == "priority") {
    const std::optional<std::uint64_t> priority = json::wholeNumber(value);
    if (!priority || *priority > kPriorityMax) {
      return "priority must be a whole number from 0 to 9";
    }
    frame.priority = static_cast<std::uint8_t>(*priority);
    return {};
  }
  const std::optional<std::string_view> text = members.decode(value);
  if (!text) {
    return std::string(name) + " must be a string";
  }
  if (std::string* const attribute = textAttribute(frame, name)) {
    *attribute = *text;
    return {};
  }
  if (name == "specversion") {
    return *text == "1.0" ? std::string() : "specversion must be 1.0";
  }
  if (name == "expirytime" || name == "notbefore") {
    std::optional<WallTime>& instant = name == "notbefore" ? frame.notBefore : frame.expiresAt;
    instant = parseTimestamp(*text);
    return instant && *instant >= WallTime{}
               ? std::string()
               : std::string(name) + " must be an instant from 1970 on, such as 2026-01-31T23:59:59.999Z";
  }
  for (const std::string_view passed : kPassedOver) {
    if (name == passed) {
      return {};
    }
  }
  return "a frame has no attribute \"" + std::string(name) + "\"";
}

}  // namespace

PostedFrame readCloudEvent(std::string_view json, const Frame& defaults) {
  PostedFrame posted{defaults, {}};
  json::CheckedMembers object = json::readObject(json);
  posted.problem = std::move(object.problem);
  bool hasVersion = false;
  for (const auto& [name, value] : object.members.all()) {
    if (!posted.problem.empty()) {
      return posted;
    }
    hasVersion = hasVersion || name == "specversion";
    posted.problem = take(posted.frame, object.members, name, value);
  }
  if (posted.problem.empty() && (!hasVersion || posted.frame.id.empty())) {
    posted.problem = "an event has specversion, id, source and type";
  }
  return posted;
}

}  // namespace ackbox::serve
