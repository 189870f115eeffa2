#include "records/frame_line.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/timestamp.hpp"
#include "json/checked.hpp"

namespace ackbox::records {
namespace {

// Of `export` and of `show --json`, about the message's row in the other file.
constexpr std::array<std::string_view, 11> kPassedOver = {"row",         "state",          "sequence",  "retry_count",
                                                          "enqueued_at", "enqueued_at_ms", "failed_at", "due_at",
                                                          "due_at_ms",   "reason",         "last_error"};

std::string* textField(Frame& frame, std::string_view key) {
  if (key == "peer") {
    return &frame.peer;
  }
  if (key == "session") {
    return &frame.session;
  }
  if (key == "type") {
    return &frame.type;
  }
  if (key == "message_id" || key == "id") {
    return &frame.id;
  }
  if (key == "traceparent") {
    return &frame.traceparent;
  }
  if (key == "idempotency_key") {
    return &frame.idempotencyKey;
  }
  if (key == "supersede_key") {
    return &frame.supersedeKey;
  }
  return key == "correlation_id" ? &frame.correlationId : nullptr;
}

std::optional<WallTime>* instantField(Frame& frame, std::string_view key) {
  if (key == "not_before" || key == "not_before_ms") {
    return &frame.notBefore;
  }
  return key == "expires_at" || key == "expires_at_ms" ? &frame.expiresAt : nullptr;
}

/// What is wrong with the instant; empty: nothing, and `instant` has it.
std::string takeInstant(std::optional<WallTime>& instant, std::string_view key, std::string_view value,
                        const std::optional<std::string_view>& text) {
  const bool isCounted = key.ends_with("_ms");
  // Up to the year 9999.
  constexpr std::uint64_t kMax = 253'402'300'799'999;
  instant.reset();
  const std::optional<std::uint64_t> count = isCounted ? json::wholeNumber(value) : std::nullopt;
  if (count && *count <= kMax) {
    instant = WallTime(std::chrono::milliseconds(*count));
  } else if (!isCounted && text) {
    instant = parseTimestamp(*text);
    if (instant && *instant < WallTime{}) {
      instant.reset();
    }
  }
  if (instant || json::kindOf(value) == json::Kind::null) {
    return {};
  }
  return std::string(key) + (isCounted ? " must be a whole number of milliseconds since 1970, or null"
                                       : " must be an instant from 1970 on, such as 2026-01-31T23:59:59.999Z, or null");
}

/// What is wrong with the member; empty: nothing, and the frame has it.
std::string take(Frame& frame, json::Members& members, std::string_view key, std::string_view value) {
  if (key == "data") {
    frame.data = value;
    return {};
  }
  const std::optional<std::string_view> text = members.decode(value);
  if (std::string* const field = textField(frame, key)) {
    if (!text) {
      return std::string(key) + " must be a string";
    }
    *field = *text;
    return {};
  }
  if (std::optional<WallTime>* instant = instantField(frame, key)) {
    return takeInstant(*instant, key, value, text);
  }
  if (key == "priority") {
    const std::optional<std::uint64_t> priority = json::wholeNumber(value);
    if (!priority || *priority > kPriorityMax) {
      return "priority must be a whole number from 0 to 9";
    }
    frame.priority = static_cast<std::uint8_t>(*priority);
    return {};
  }
  if (key == "damaged") {
    return value == "false" ? "" : "it is damaged: the file that it is from does not hold it as it was written";
  }
  const bool isKnown = std::find(kPassedOver.begin(), kPassedOver.end(), key) != kPassedOver.end();
  return isKnown ? std::string() : "a frame has no key \"" + std::string(key) + "\"";
}

}  // namespace

FrameLine parseFrameLine(std::string_view line, const Frame& defaults) {
  FrameLine parsed{defaults, {}};
  json::CheckedMembers object = json::readObject(line);
  parsed.problem = std::move(object.problem);
  for (const auto& [key, value] : object.members.all()) {
    if (!parsed.problem.empty()) {
      break;
    }
    parsed.problem = take(parsed.frame, object.members, key, value);
  }
  return parsed;
}

}  // namespace ackbox::records
