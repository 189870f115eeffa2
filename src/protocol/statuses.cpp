#include "protocol/statuses.hpp"

#include <algorithm>
#include <array>

#include "protocol/limits.hpp"

namespace ackbox::protocol {
namespace {

int statusOf(const FrameResult& result) noexcept {
  // Waiting does not bring a missing predecessor, although a 503 would suggest so to a proxy between the agents.
  if (result.code == "out-of-sequence") {
    return 422;
  }
  switch (result.outcome) {
    case Outcome::ack:
      return 200;
    case Outcome::defer:
      return 202;
    case Outcome::nack:
      return 503;
    case Outcome::term:
      return 422;
  }
  return 503;
}

/// Rounds up to whole seconds: a shorter time in the header would call the sender back too soon.
std::uint32_t secondsUp(std::optional<std::chrono::milliseconds> delay) {
  const auto wished = std::chrono::ceil<std::chrono::seconds>(
      std::clamp(delay.value_or(std::chrono::milliseconds(0)), std::chrono::milliseconds(0), kRetryAfterMax));
  return std::max(1U, static_cast<std::uint32_t>(wished.count()));
}

constexpr std::array<std::string_view, 7> kReceiversOwn = {
    "closed-origin", "expired", "held", "id-conflict", "out-of-sequence", "stale-epoch", "wrong-audience",
};

}  // namespace

bool isReceiversOwn(std::string_view code) noexcept {
  return std::ranges::find(kReceiversOwn, code) != kReceiversOwn.end();
}

void setStatus(const FrameResult& result, InboundResponse& response) {
  response.status = statusOf(result);
  if (response.status == 503) {
    response.retryAfterSeconds = secondsUp(result.retryAfter);
  }
}

}  // namespace ackbox::protocol
