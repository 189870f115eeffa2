#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ackbox/inbound_request.hpp"
#include "serve/http/caller.hpp"
#include "serve/http/query.hpp"
#include "transport/request_sink.hpp"

namespace ackbox::serve {

class Logins;
class Tokens;

/// An admitted request: its operation is known, and its caller may request it.
struct Request {
  /// The decoded values of the parts in braces of the operation's path, in order.
  std::vector<std::string> path = {};
  Query query = {};
  std::string contentType = {};
  /// The header `Accept`; empty if absent, which accepts anything.
  std::string accept = {};
  /// The header `Idempotency-Key` as sent; empty if absent.
  std::string idempotencyKey = {};
  /// The header `Last-Event-ID`; empty if absent.
  std::string lastEventId = {};
  /// The headers `If-None-Match` and `Cookie`; empty if absent.
  std::string ifNoneMatch = {};
  std::string cookie = {};
  std::string body = {};
  Caller caller = {};
  /// Null if there are no tokens, and thus no logins. Lifetime: the server's.
  Logins* logins = nullptr;
  std::shared_ptr<const Tokens> tokens = {};
  /// For a streaming answer, and with `Operation::endsWithToken`: whether the token still stands for a caller that may
  /// request it. Empty if there are no tokens. Lifetime: the server's.
  std::function<bool()> isStillAllowed = {};
  /// Counts and logs a request beyond the limits of its token. Empty if the token has none. Lifetime: the server's.
  std::function<void()> onBeyondLimits = {};
  /// For `Operation::run`: called when the client has disconnected, see `ClientWatch`.
  std::shared_ptr<transport::ClientWatch> client = {};

  /// The caller that shares places with others, see `mayTakePlace`.
  [[nodiscard]] std::string sharer() const { return tokens ? caller.name : std::string(); }
};

using Response = InboundResponse;

/// Called once, on any thread.
using Respond = std::function<void(Response)>;

}  // namespace ackbox::serve
