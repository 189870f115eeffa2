#include "serve/inbox/push_verdict.hpp"

#include <string>
#include <string_view>
#include <utility>

#include "protocol/answer_text.hpp"
#include "protocol/http_date.hpp"
#include "protocol/media_type.hpp"

namespace ackbox::serve {
namespace {

using std::chrono::milliseconds;
using transport::HttpAnswer;
using transport::HttpEnd;

constexpr std::chrono::hours kRetryAfterMost{24};

PushVerdict judged(HandlerResult result) {
  return {.kind = PushVerdict::Kind::judged, .result = std::move(result)};
}

PushVerdict failed(HandlerResult result) {
  return {.kind = PushVerdict::Kind::failed, .result = std::move(result)};
}

std::optional<milliseconds> retryAfter(const HttpAnswer& answer, WallTime now) {
  return protocol::parseRetryAfter(answer.retryAfter, now, kRetryAfterMost);
}

/// The body as the result, if its type is JSON. Invalid JSON is reported where all results are checked.
std::string resultOf(const HttpAnswer& answer) {
  return protocol::isJsonMediaType(answer.contentType) ? answer.body : std::string();
}

/// "answers 404", followed by the answer's text.
std::string causeOf(const HttpAnswer& answer) {
  const std::string said = protocol::textOfAnswer(answer.contentType, answer.body);
  return "answers " + std::to_string(answer.status) + (said.empty() ? "" : ": " + said);
}

}  // namespace

PushVerdict judgePush(const HttpAnswer& answer, WallTime now) {
  if (answer.end == HttpEnd::connectionLost || (answer.end == HttpEnd::unavailable && answer.isAtPeer)) {
    // The application may have crashed because of this frame.
    return failed(HandlerResult::notNow("the application did not answer: " + answer.error));
  }
  if (answer.end != HttpEnd::answered) {
    return {.kind = PushVerdict::Kind::unreached, .cause = "cannot be reached: " + answer.error};
  }
  if (answer.status == 202) {
    // No later message would report that the frame is done.
    return failed(HandlerResult::notNow("the application answers 202: it must answer 200 once the frame is worked on"));
  }
  if (answer.status >= 200 && answer.status < 300) {
    return judged(HandlerResult::ack(resultOf(answer)));
  }
  std::string cause = causeOf(answer);
  switch (answer.status) {
    case 422:
      return judged(HandlerResult::reject("the application " + cause));
    // These statuses are about the request, which means the frame.
    case 400:
    case 413:
    case 415:
    case 408:
    case 409:
    case 425:
    case 429:
      return failed(HandlerResult::notNow("the application " + cause, retryAfter(answer, now)));
    default:
      break;
  }
  if (answer.status >= 500) {
    return failed(HandlerResult::notNow("the application " + cause, retryAfter(answer, now)));
  }
  // Such as 404: a wrong address, a route that is not deployed yet, or a frame without a recipient.
  return {.kind = PushVerdict::Kind::refused, .cause = std::move(cause)};
}

}  // namespace ackbox::serve
