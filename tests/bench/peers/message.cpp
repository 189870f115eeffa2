#include "bench/peers/message.hpp"

#include <charconv>
#include <stdexcept>

namespace ackbox::bench::peers {
namespace {

constexpr std::string_view kBegin = R"({"place":")";
constexpr std::size_t kPlaceDigits = 12;
constexpr std::string_view kMiddle = R"(","text":")";
constexpr std::string_view kEnd = R"("})";

}  // namespace

Message messageOf(std::uint64_t number) {
  const std::string place = std::to_string(number / kSessions + 1);
  Message message;
  message.session = "session-" + std::to_string(number % kSessions);
  message.data.reserve(kMessageBytes);
  message.data += kBegin;
  message.data.append(kPlaceDigits - place.size(), '0');
  message.data += place;
  message.data += kMiddle;
  message.data.append(kMessageBytes - kEnd.size() - message.data.size(), 'x');
  message.data += kEnd;
  return message;
}

std::uint64_t placeOf(std::string_view data) {
  std::uint64_t place = 0;
  if (data.size() == kMessageBytes && data.starts_with(kBegin)) {
    const std::string_view digits = data.substr(kBegin.size(), kPlaceDigits);
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), place);
    if (parsed.ec == std::errc{} && parsed.ptr == digits.data() + digits.size()) {
      return place;
    }
  }
  throw std::runtime_error("the data that arrived is not what was published");
}

}  // namespace ackbox::bench::peers
