#include "bench/workload.hpp"

#include <charconv>
#include <stdexcept>

namespace ackbox::bench {
namespace {

constexpr std::string_view kBegin = R"({"place":")";
constexpr std::size_t kPlaceDigits = 12;
constexpr std::string_view kMiddle = R"(","text":")";
constexpr std::string_view kEnd = R"("})";

std::string padded(std::uint64_t number, std::size_t digits) {
  std::string text = std::to_string(number);
  text.insert(0, digits - text.size(), '0');
  return text;
}

}  // namespace

Frame frameOf(std::uint64_t number, std::uint64_t sessions) {
  Frame frame;
  frame.session = "session-" + std::to_string(number % sessions);
  frame.type = "ackbox.bench.message";
  frame.data.reserve(kFrameBytes);
  frame.data += kBegin;
  frame.data += padded(number / sessions + 1, kPlaceDigits);
  frame.data += kMiddle;
  frame.data.append(kFrameBytes - kEnd.size() - frame.data.size(), 'x');
  frame.data += kEnd;
  return frame;
}

std::uint64_t placeOf(std::string_view data) {
  std::uint64_t place = 0;
  if (data.size() != kFrameBytes || !data.starts_with(kBegin)) {
    throw std::runtime_error("the data that arrived is not what was sent");
  }
  const std::string_view digits = data.substr(kBegin.size(), kPlaceDigits);
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), place);
  if (parsed.ec != std::errc{} || parsed.ptr != digits.data() + digits.size()) {
    throw std::runtime_error("the data that arrived is not what was sent");
  }
  return place;
}

std::string orderedId(std::uint64_t number) {
  return "018f2f6e-7a00-7000-" + padded(number, 17);
}

OutboxOptions outboxOptions(Durability durability) {
  OutboxOptions options;
  options.agent = kSenderAgent;
  options.durability = durability;
  options.maxPending = 0;
  options.maxPendingBytes = 0;
  return options;
}

}  // namespace ackbox::bench
