#include "records/frame_line.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/timestamp.hpp"
#include "json/checked.hpp"
#include "records/message.hpp"

namespace ackbox::records {
namespace {

/// Whether `export` or `show --json` writes the key about the message's row in the file that it comes from.
bool isPassedOver(std::string_view key) {
  constexpr std::array<std::string_view, 4> kOthers = {"attempts", "enqueued_at", "failed_at", "due_at"};
  const std::span<const Field<MessageInfo>> ofMessage = fields<MessageInfo>();
  return std::ranges::find(kOthers, key) != kOthers.end() ||
         std::ranges::find(ofMessage, key, &Field<MessageInfo>::name) != ofMessage.end();
}

std::string* textField(Frame& frame, std::string_view key) {
  constexpr auto kTexts =
      std::to_array<std::pair<std::string_view, std::string Frame::*>>({{"peer", &Frame::peer},
                                                                        {"session", &Frame::session},
                                                                        {"type", &Frame::type},
                                                                        {"message_id", &Frame::id},
                                                                        {"id", &Frame::id},
                                                                        {"traceparent", &Frame::traceparent},
                                                                        {"idempotency_key", &Frame::idempotencyKey},
                                                                        {"supersede_key", &Frame::supersedeKey},
                                                                        {"correlation_id", &Frame::correlationId},
                                                                        {"resent_of", &Frame::resentOf}});
  const auto* const found = std::ranges::find(kTexts, key, [](const auto& text) { return text.first; });
  return found == kTexts.end() ? nullptr : &(frame.*found->second);
}

std::optional<WallTime>* instantField(Frame& frame, std::string_view key) {
  if (key == "not_before" || key == "not_before_ms") {
    return &frame.notBefore;
  }
  return key == "expires_at" || key == "expires_at_ms" ? &frame.expiresAt : nullptr;
}

/// Parses an instant. Returns what is wrong with it; empty if `instant` was set.
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

/// Reads one member into the frame. Returns what is wrong with it; empty if it was read.
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
  return isPassedOver(key) ? std::string() : "a frame has no key \"" + std::string(key) + "\"";
}

/// Returns what is wrong if a field is given by both of its names; empty otherwise.
std::string problemOfNames(const json::Members& members) {
  constexpr auto kNames = std::to_array<std::pair<std::string_view, std::string_view>>(
      {{"id", "message_id"}, {"not_before", "not_before_ms"}, {"expires_at", "expires_at_ms"}});
  const auto isGiven = [&](std::string_view name) {
    return std::ranges::find(members.all(), name, &json::Members::Member::key) != members.all().end();
  };
  for (const auto& [name, other] : kNames) {
    if (isGiven(name) && isGiven(other)) {
      return std::string(name) + " and " + std::string(other) + " are names of one field: give one of them";
    }
  }
  return {};
}

}  // namespace

FrameLine parseFrameLine(std::string_view line, const Frame& defaults) {
  FrameLine parsed{defaults, {}};
  json::CheckedMembers object = json::readObject(line);
  parsed.problem = object.problem.empty() ? problemOfNames(object.members) : std::move(object.problem);
  for (const auto& [key, value] : object.members.all()) {
    if (!parsed.problem.empty()) {
      break;
    }
    parsed.problem = take(parsed.frame, object.members, key, value);
  }
  return parsed;
}

}  // namespace ackbox::records
