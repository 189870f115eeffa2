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

/// A request that was admitted: its operation is known, and its caller may ask for it.
struct Request {
  /// The values of the parts of the path that stand in braces in the operation's, decoded, in their order.
  std::vector<std::string> path = {};
  Query query = {};
  std::string contentType = {};
  /// The header `Accept`; empty: anything.
  std::string accept = {};
  /// The header `Idempotency-Key` as it came; empty: there was none.
  std::string idempotencyKey = {};
  /// The header `Last-Event-ID`; empty: there was none.
  std::string lastEventId = {};
  /// The headers `If-None-Match` and `Cookie`; empty: there were none.
  std::string ifNoneMatch = {};
  std::string cookie = {};
  std::string body = {};
  Caller caller = {};
  /// Null: there are no tokens, and so no login. Lifetime: the server's.
  Logins* logins = nullptr;
  std::shared_ptr<const Tokens> tokens = {};
  /// For an answer that goes on: whether its token still stands for a caller that may ask for it. Empty: there are no
  /// tokens. Lifetime: the server's.
  std::function<bool()> isStillAllowed = {};
  /// For `Operation::run`: called when its client has gone, see there.
  std::shared_ptr<transport::ClientWatch> client = {};

  /// Who shares places with others, see `mayTakePlace`.
  [[nodiscard]] std::string sharer() const { return tokens ? caller.name : std::string(); }
};

using Response = InboundResponse;

/// Called once, on any thread.
using Respond = std::function<void(Response)>;

}  // namespace ackbox::serve
