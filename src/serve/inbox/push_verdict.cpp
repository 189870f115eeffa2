#include "serve/inbox/push_verdict.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "ackbox/visible.hpp"
#include "protocol/http_date.hpp"
#include "protocol/json_reader.hpp"
#include "protocol/json_text.hpp"
#include "protocol/limits.hpp"
#include "protocol/media_type.hpp"
#include "protocol/text_rules.hpp"

namespace ackbox::serve {
namespace {

using std::chrono::milliseconds;
using transport::HttpAnswer;
using transport::HttpEnd;

constexpr milliseconds kFirstPause{500};
constexpr milliseconds kLongestPause{30'000};
// Somebody has to mend something first.
constexpr milliseconds kHeldPause{30'000};
constexpr std::uint64_t kRetryAfterSecondsMax = 24 * 3600;
// With what stands before it, less than the longest text that a sender gets.
constexpr std::size_t kSaidBytesMax = 300;

PushVerdict ended(HandlerResult result) {
  return {.result = std::move(result)};
}

std::optional<milliseconds> retryAfter(const HttpAnswer& answer, WallTime now) {
  if (const auto seconds = protocol::parseCapped(answer.retryAfter, kRetryAfterSecondsMax)) {
    return std::chrono::seconds(*seconds);
  }
  const std::optional<WallTime> date = protocol::parseHttpDate(answer.retryAfter);
  return date && *date > now ? std::optional(*date - now) : std::nullopt;
}

/// The body as the result, if it is said to be JSON: what is not, is told where each result is judged.
std::string resultOf(const HttpAnswer& answer) {
  return protocol::isJsonMediaType(answer.contentType) ? answer.body : std::string();
}

/// What a person would look for in an answer's JSON; nothing where there is no such text.
std::string detailIn(std::string_view json) {
  if (protocol::findFault(json, protocol::kAnswerDepthMax) != protocol::JsonFault::none) {
    return {};
  }
  std::optional<protocol::Members> members = protocol::Members::read(protocol::trimJson(json));
  for (const std::string_view key : {"detail", "error", "message", "title"}) {
    const std::optional<std::string_view> value = members ? members->find(key) : std::nullopt;
    if (value && protocol::kindOf(*value) == protocol::JsonKind::string) {
      return std::string(members->text(key).value_or(""));
    }
  }
  return {};
}

/// Why the application answers so, as it says itself: a text on one line that can be printed. No page of HTML.
std::string saidIn(const HttpAnswer& answer) {
  const bool isJson = protocol::isJsonMediaType(answer.contentType);
  if (!isJson && !answer.contentType.empty() && !protocol::startsWithWord(answer.contentType, "text/plain")) {
    return {};
  }
  std::string text = isJson ? detailIn(answer.body) : std::string();
  if (text.empty()) {
    text = protocol::truncated(answer.body, kSaidBytesMax);
  }
  std::ranges::replace_if(
      text, [](char letter) { return letter == '\n' || letter == '\r' || letter == '\t'; }, ' ');
  text.erase(text.find_last_not_of(' ') + 1);
  text.erase(0, std::min(text.find_first_not_of(' '), text.size()));
  const std::string seen = visible(protocol::truncated(text, kSaidBytesMax));
  return std::string(protocol::truncated(seen, kSaidBytesMax));
}

/// "answers 404", and what it says.
std::string causeOf(const HttpAnswer& answer) {
  const std::string said = saidIn(answer);
  return "answers " + std::to_string(answer.status) + (said.empty() ? "" : ": " + said);
}

}  // namespace

PushVerdict judgePush(const HttpAnswer& answer, unsigned failures, WallTime now) {
  if (answer.end == HttpEnd::connectionLost || (answer.end == HttpEnd::unavailable && answer.isAtPeer)) {
    // It may be this frame that the application does not survive.
    return ended(HandlerResult::notNow("the application did not answer: " + answer.error));
  }
  if (answer.end != HttpEnd::answered) {
    const milliseconds pause = std::min(kFirstPause * (1U << std::min(failures, 10U)), kLongestPause);
    return {.pause = pause, .cause = "cannot be reached: " + answer.error};
  }
  if (answer.status == 202) {
    // Nobody would say when it is done.
    return ended(HandlerResult::notNow("the application answers 202: it must answer 200 once the frame is worked on"));
  }
  if (answer.status >= 200 && answer.status < 300) {
    return ended(HandlerResult::ack(resultOf(answer)));
  }
  std::string cause = causeOf(answer);
  switch (answer.status) {
    case 422:
      return ended(HandlerResult::reject("the application " + cause));
    case 408:
    case 409:
    case 425:
    case 429:
      return ended(HandlerResult::notNow("the application " + cause, retryAfter(answer, now)));
    default:
      break;
  }
  if (answer.status >= 500) {
    return ended(HandlerResult::notNow("the application " + cause, retryAfter(answer, now)));
  }
  // Such as 404: a wrong address, a route that is not deployed yet. Frames are not lost to it.
  return {.pause = kHeldPause, .cause = std::move(cause)};
}

}  // namespace ackbox::serve
