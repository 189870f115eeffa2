#pragma once

#include <string>
#include <string_view>
#include <system_error>

#include "serve/http/request.hpp"

namespace ackbox::serve {

/// An answer in JSON. `json` is one valid value.
[[nodiscard]] Response jsonAnswer(int status, std::string json);

/// An answer of plain text.
[[nodiscard]] Response textAnswer(int status, std::string text,
                                  std::string_view contentType = "text/plain; charset=utf-8");

/// The head of an answer that goes on, ready to be sent.
[[nodiscard]] Response streamHead(std::string_view contentType);

/// A problem document (RFC 9457), as the protocol's own.
[[nodiscard]] Response problemAnswer(int status, std::string_view title, std::string_view detail);

/// The failure of a call of the library as an answer: 404, 409, 422, 503 or 507 where it is one that a caller can do
/// something about, otherwise 500.
[[nodiscard]] Response failureAnswer(const std::error_code& failure, std::string_view detail);

/// The exception that is being handled, as an answer. To be called in a `catch` block.
[[nodiscard]] Response exceptionAnswer();

/// Adds what keeps a browser from doing with the answer anything but show it.
void addSecurityHeaders(Response& response);

}  // namespace ackbox::serve
