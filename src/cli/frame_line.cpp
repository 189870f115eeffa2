#include "cli/frame_line.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/instant.hpp"
#include "cli/json_line.hpp"
#include "cli/json_slices.hpp"

namespace ackbox::cli {
namespace {

// Of `export` and of `show --json`, about the message's row in the other file.
constexpr std::array<std::string_view, 11> kPassedOver = {"row",         "state",          "sequence",  "retry_count",
                                                          "enqueued_at", "enqueued_at_ms", "failed_at", "due_at",
                                                          "due_at_ms",   "reason",         "last_error"};

/// A scalar only: a slice that begins with a bracket is not made a value, however deep it is.
nlohmann::json scalarOf(std::string_view slice) {
  const bool isNested = slice.front() == '{' || slice.front() == '[';
  return isNested ? nlohmann::json(nlohmann::json::value_t::discarded)
                  : nlohmann::json::parse(slice.begin(), slice.end(), nullptr, false);
}

/// The string at hand, where it holds nothing that would have to be decoded or refused, as nearly everywhere.
std::optional<std::string_view> plainText(std::string_view slice) {
  if (slice.size() < 2 || slice.front() != '"' || slice.back() != '"') {
    return std::nullopt;
  }
  const std::string_view text = slice.substr(1, slice.size() - 2);
  return isPlainJson(text) ? std::optional(text) : std::nullopt;
}

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
std::string takeInstant(std::optional<WallTime>& instant, std::string_view key, const nlohmann::json& value) {
  const bool isCounted = key.ends_with("_ms");
  // Up to the year 9999.
  constexpr std::int64_t kMax = 253'402'300'799'999;
  instant.reset();
  if (isCounted && value.is_number_unsigned() && value.get<std::uint64_t>() <= kMax) {
    instant = WallTime(std::chrono::milliseconds(value.get<std::int64_t>()));
  } else if (!isCounted && value.is_string()) {
    instant = parseInstant(value.get<std::string>());
  }
  if (instant || value.is_null()) {
    return {};
  }
  return std::string(key) + (isCounted ? " must be a whole number of milliseconds since 1970, or null"
                                       : " must be an instant from 1970 on, such as 2026-01-31T23:59:59.999Z, or null");
}

/// What is wrong with the member; empty: nothing, and the frame has it.
std::string take(Frame& frame, std::string_view key, std::string_view slice) {
  if (key == "data") {
    frame.data = slice;
    return {};
  }
  if (std::string* text = textField(frame, key)) {
    if (const std::optional<std::string_view> plain = plainText(slice)) {
      *text = *plain;
      return {};
    }
    const nlohmann::json value = scalarOf(slice);
    if (!value.is_string()) {
      return std::string(key) + " must be a string";
    }
    *text = value.get<std::string>();
    return {};
  }
  if (std::optional<WallTime>* instant = instantField(frame, key)) {
    return takeInstant(*instant, key, scalarOf(slice));
  }
  if (key == "priority") {
    const nlohmann::json value = scalarOf(slice);
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > kPriorityMax) {
      return "priority must be a whole number from 0 to 9";
    }
    frame.priority = value.get<std::uint8_t>();
    return {};
  }
  if (key == "damaged") {
    return scalarOf(slice) == false ? "" : "it is damaged: the file that it is from does not hold it as it was written";
  }
  const bool isKnown = std::find(kPassedOver.begin(), kPassedOver.end(), key) != kPassedOver.end();
  return isKnown ? std::string() : "the key \"" + std::string(key) + "\" is none of a frame's";
}

}  // namespace

FrameLine parseFrameLine(std::string_view line, const Frame& defaults) {
  FrameLine parsed{defaults, {}};
  const JsonSlices slices = sliceObject(line);
  parsed.problem = slices.problem;
  for (const auto& [key, slice] : slices.members) {
    if (!parsed.problem.empty()) {
      break;
    }
    parsed.problem = take(parsed.frame, key, slice);
  }
  return parsed;
}

}  // namespace ackbox::cli
