#include "serve/inbox/push_verdict.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "protocol/http_date.hpp"
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
constexpr std::size_t kResultBytesMax = std::size_t{64} * 1024;

PushVerdict again(unsigned failures) {
  return {.pause = std::min(kFirstPause * (1U << std::min(failures, 10U)), kLongestPause)};
}

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

/// The body as the result, if it is JSON and small.
std::string resultOf(const HttpAnswer& answer) {
  const bool isJson = answer.contentType.starts_with("application/json") && answer.body.size() <= kResultBytesMax &&
                      nlohmann::json::accept(answer.body);
  return isJson ? answer.body : std::string();
}

}  // namespace

PushVerdict judgePush(const HttpAnswer& answer, bool hasTimedOut, unsigned failures, WallTime now) {
  if (answer.end == HttpEnd::connectionLost || (answer.end == HttpEnd::unavailable && hasTimedOut)) {
    // It may be this frame that the application does not survive.
    return ended(HandlerResult::notNow("the application did not answer: " + answer.error));
  }
  if (answer.end != HttpEnd::answered) {
    return again(failures);
  }
  const std::string status = "the application answers " + std::to_string(answer.status);
  switch (answer.status) {
    case 202:
      // Nobody would say when it is done.
      return ended(HandlerResult::notNow(status + ": it must answer 200 once the frame is worked on"));
    case 422:
      return ended(HandlerResult::reject(status));
    case 408:
    case 409:
    case 425:
    case 429:
      return ended(HandlerResult::notNow(status, retryAfter(answer, now)));
    default:
      break;
  }
  if (answer.status >= 200 && answer.status < 300) {
    return ended(HandlerResult::ack(resultOf(answer)));
  }
  if (answer.status >= 500) {
    return ended(HandlerResult::notNow(status, retryAfter(answer, now)));
  }
  // Such as 404: a wrong address, a route that is not deployed yet. Frames are not lost to it.
  return {.pause = kHeldPause};
}

}  // namespace ackbox::serve
