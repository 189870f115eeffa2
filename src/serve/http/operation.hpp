#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "serve/http/caller.hpp"
#include "serve/http/request.hpp"
#include "transport/answer_stream.hpp"

namespace ackbox::serve {

class Service;

/// Whether an operation needs no token when tokens are configured.
enum class Opening : std::uint8_t {
  never,
  always,
  /// As `AccessRules::openHealth` and `openMetrics` specify.
  health,
  metrics,
};

/// What an operation shows or changes, for tokens that are limited to peers or types.
enum class Reach : std::uint8_t {
  /// More than some peers' messages: a limited token may not request it.
  all,
  /// What the caller's limits permit: the operation checks them.
  limited,
  /// No peer and no message.
  none,
};

/// A row of the table of operations: a request, the required roles, and the function that answers.
struct Operation {
  std::string_view method;
  /// A part in braces matches one segment of a path, up to its verb: `/v1/peers/{peer}:pause`.
  std::string_view path;
  /// The caller needs one of these roles, unless the operation is open. Empty: any token is sufficient.
  Roles roles;
  /// The largest body, in bytes; 0 if the operation takes no body.
  std::size_t bodyBytesMax;
  /// Runs on the thread that reads and writes all connections: must not block. Calls `respond` once, now or later. An
  /// exception is converted to an answer.
  void (*run)(Service& service, Request&& request, Respond&& respond);
  /// Replaces `run` for a streaming answer: opens `answer`, or calls `respond`, before it returns.
  void (*stream)(Service& service, Request&& request, std::shared_ptr<transport::AnswerStream> answer,
                 Respond&& respond) = nullptr;
  /// A view for people: redirects a browser that is not logged in to the login.
  bool isPage = false;
  Opening opening = Opening::never;
  /// What it gives its caller ends with the caller's token, as a streaming answer does.
  bool endsWithToken = false;
  Reach reach = Reach::all;
};

}  // namespace ackbox::serve
