#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

#include "ackbox/receipt.hpp"
#include "serve/http/request.hpp"

namespace ackbox::serve {

/// An answer in JSON. `json` must be one valid value.
[[nodiscard]] Response jsonAnswer(int status, std::string json);

/// An answer in plain text.
[[nodiscard]] Response textAnswer(int status, std::string text,
                                  std::string_view contentType = "text/plain; charset=utf-8");

/// The head of a streaming answer, ready to be sent.
[[nodiscard]] Response streamHead(std::string_view contentType);

/// A problem document (RFC 9457), like those of the protocol.
[[nodiscard]] Response problemAnswer(int status, std::string_view title, std::string_view detail);

/// The HTTP status of an enqueue's outcome.
[[nodiscard]] int httpStatusOf(EnqueueStatus status) noexcept;

/// A refused enqueue as an answer.
[[nodiscard]] Response refusalAnswer(int status, std::string_view title, std::string_view detail);

/// An enqueue of an operation that makes messages was refused, with a sentence for the caller. Answered as an enqueue.
class EnqueueRefused : public std::runtime_error {
public:
  EnqueueRefused(EnqueueStatus status, const std::string& detail) : std::runtime_error(detail), status_(status) {}

  [[nodiscard]] EnqueueStatus status() const noexcept { return status_; }

private:
  EnqueueStatus status_;
};

/// The failure of a library call as an answer: 404, 409, 422, 503 or 507 if the caller can act on it, otherwise 500.
[[nodiscard]] Response failureAnswer(const std::error_code& failure, std::string_view detail);

/// The exception that is being handled, as an answer, with `before` in front of its sentence. Must be called in a
/// `catch` block.
[[nodiscard]] Response exceptionAnswer(std::string_view before = {});

/// Adds headers that restrict a browser to displaying the answer.
void addSecurityHeaders(Response& response);

}  // namespace ackbox::serve
