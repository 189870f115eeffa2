#include "serve/api/cloud_event.hpp"

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "ackbox/clock.hpp"
#include "cli/json_slices.hpp"
#include "protocol/timestamp.hpp"

namespace ackbox::serve {
namespace {

// Attributes that an enqueue assigns itself, or that say nothing to a peer.
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
  if (name == "supersedekey") {
    return &frame.supersedeKey;
  }
  return name == "idempotencykey" ? &frame.idempotencyKey : nullptr;
}

/// What is wrong with the attribute; empty: nothing, and the frame has it.
std::string take(Frame& frame, std::string_view name, std::string_view slice) {
  if (name == "data") {
    frame.data = slice;
    return {};
  }
  const bool isNested = slice.front() == '{' || slice.front() == '[';
  const nlohmann::json value = isNested ? nlohmann::json(nlohmann::json::value_t::discarded)
                                        : nlohmann::json::parse(slice.begin(), slice.end(), nullptr, false);
  if (name == "priority") {
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > kPriorityMax) {
      return "priority must be a whole number from 0 to 9";
    }
    frame.priority = value.get<std::uint8_t>();
    return {};
  }
  if (!value.is_string()) {
    return std::string(name) + " must be a string";
  }
  const auto text = value.get<std::string>();
  if (std::string* const attribute = textAttribute(frame, name)) {
    *attribute = text;
    return {};
  }
  if (name == "specversion") {
    return text == "1.0" ? std::string() : "specversion must be 1.0";
  }
  if (name == "expirytime" || name == "notbefore") {
    std::optional<WallTime>& instant = name == "notbefore" ? frame.notBefore : frame.expiresAt;
    instant = protocol::parseTimestamp(text);
    return instant ? std::string() : std::string(name) + " must be an instant such as 2026-01-31T23:59:59.999Z";
  }
  for (const std::string_view passed : kPassedOver) {
    if (name == passed) {
      return {};
    }
  }
  return "the attribute \"" + std::string(name) + "\" is none that a frame carries";
}

}  // namespace

PostedFrame readCloudEvent(std::string_view json, const Frame& defaults) {
  PostedFrame posted{defaults, {}};
  const cli::JsonSlices slices = cli::sliceObject(json);
  posted.problem = slices.problem;
  bool hasVersion = false;
  for (const auto& [name, slice] : slices.members) {
    if (!posted.problem.empty()) {
      return posted;
    }
    hasVersion = hasVersion || name == "specversion";
    posted.problem = take(posted.frame, name, slice);
  }
  if (posted.problem.empty() && (!hasVersion || posted.frame.id.empty())) {
    posted.problem = "an event has specversion, id, source and type";
  }
  return posted;
}

}  // namespace ackbox::serve
