#include "serve/http/answer.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "ackbox/error.hpp"
#include "protocol/problem.hpp"
#include "protocol/wire.hpp"

namespace ackbox::serve {
namespace {

constexpr std::string_view kContentSecurityPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'self'";
constexpr std::uint32_t kFullRetrySeconds = 1;

}  // namespace

Response jsonAnswer(int status, std::string json) {
  return textAnswer(status, std::move(json), "application/json");
}

Response textAnswer(int status, std::string text, std::string_view contentType) {
  Response response;
  response.status = status;
  response.contentType = contentType;
  response.body = std::move(text);
  return response;
}

Response streamHead(std::string_view contentType) {
  Response head = textAnswer(200, {}, contentType);
  head.authenticated = true;
  addSecurityHeaders(head);
  // Otherwise a buffering proxy would hold the stream back.
  head.headers.emplace_back("X-Accel-Buffering", "no");
  return head;
}

Response problemAnswer(int status, std::string_view title, std::string_view detail) {
  return protocol::problem(status, title, detail);
}

int httpStatusOf(EnqueueStatus status) noexcept {
  switch (status) {
    case EnqueueStatus::stored:
      return 201;
    case EnqueueStatus::duplicate:
      return 200;
    case EnqueueStatus::queueFull:
      return 429;
    case EnqueueStatus::frameTooLarge:
      return 413;
    case EnqueueStatus::invalidFrame:
    case EnqueueStatus::unknownPeer:
      return 422;
  }
  return 500;
}

Response refusalAnswer(int status, std::string_view title, std::string_view detail) {
  Response response = problemAnswer(status, title, detail);
  if (status == 429) {
    response.retryAfterSeconds = kFullRetrySeconds;
  }
  return response;
}

Response failureAnswer(const std::error_code& failure, std::string_view detail) {
  if (failure == Errc::unknownMessage || failure == Errc::unknownPeer) {
    return problemAnswer(404, "Not found", detail);
  }
  if (failure == Errc::invalidTransition) {
    return problemAnswer(409, "Not in this state", detail);
  }
  if (failure == Errc::invalidOption) {
    return problemAnswer(422, "Invalid request", detail);
  }
  if (failure == Errc::diskFull) {
    return protocol::unavailable(true, detail);
  }
  if (failure == Errc::stopped || failure == Errc::outcomeUnknown || isRetryable(failure)) {
    return protocol::unavailable(false, detail);
  }
  return problemAnswer(500, "Internal error", detail);
}

Response exceptionAnswer(std::string_view before) {
  const auto sentence = [before](const std::exception& exception) { return std::string(before) + exception.what(); };
  try {
    throw;
  } catch (const InvalidRequest& invalid) {
    return problemAnswer(422, "Invalid request", sentence(invalid));
  } catch (const BeyondLimits& beyond) {
    return problemAnswer(403, "Forbidden", sentence(beyond));
  } catch (const EnqueueRefused& refused) {
    return refusalAnswer(httpStatusOf(refused.status()), toString(refused.status()), sentence(refused));
  } catch (const Error& error) {
    return failureAnswer(error.code(), sentence(error));
  } catch (const std::exception& exception) {
    return problemAnswer(500, "Internal error", sentence(exception));
  }
}

void addSecurityHeaders(Response& response) {
  const auto add = [&](const char* name, std::string_view value) { response.headers.emplace_back(name, value); };
  add("Content-Security-Policy", kContentSecurityPolicy);
  add("X-Content-Type-Options", "nosniff");
  // With this value, the page's own forms send their origin.
  add("Referrer-Policy", "same-origin");
  add("Cross-Origin-Resource-Policy", "same-origin");
  if (std::ranges::none_of(response.headers, [](const auto& header) { return header.first == "Cache-Control"; })) {
    add("Cache-Control", "no-store");
  }
}

}  // namespace ackbox::serve
