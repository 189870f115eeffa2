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

/// Where there are tokens: whether an operation can do without one.
enum class Opening : std::uint8_t {
  never,
  always,
  /// As `AccessRules::openHealth` and `openMetrics` say.
  health,
  metrics,
};

/// A row of the table of operations: what is asked for, who may ask, and what answers.
struct Operation {
  std::string_view method;
  /// Parts in braces match one segment of a path, up to its verb: `/v1/peers/{peer}:pause`.
  std::string_view path;
  /// A caller needs one of these, unless it is open. Empty: any token will do.
  Roles roles;
  /// The largest body, in bytes; 0 if the operation takes no body.
  std::size_t bodyBytesMax;
  /// Runs on the thread that reads and writes all connections: it must not wait. Calls `respond` once, now or later.
  /// What it throws is an answer, too.
  void (*run)(Service& service, Request&& request, Respond&& respond);
  /// In place of `run`, for an answer that goes on: opens `answer`, or calls `respond`, before it returns.
  void (*stream)(Service& service, Request&& request, std::shared_ptr<transport::AnswerStream> answer,
                 Respond&& respond) = nullptr;
  /// For people with a browser: who is not logged in is led to the login.
  bool isPage = false;
  Opening opening = Opening::never;
};

}  // namespace ackbox::serve
