#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "ackbox/inbound_request.hpp"
#include "transport/answer_stream.hpp"
#include "transport/request_head.hpp"

namespace ackbox::transport {

/// To be called when the client of a request has gone before its answer. Owned by the connection's executor.
struct ClientWatch {
  /// Set within `handle`, or never: from then until the answer the client is watched. When it ends the connection, or
  /// its half of it, the connection is closed and this is called, once.
  std::function<void()> gone = {};
};

/// What is to become of a request, by its head alone.
struct Admission {
  using Respond = std::function<void(InboundResponse)>;

  /// Set: it is refused with this, its body unread, and its connection closed behind the answer unless the body is
  /// empty.
  std::optional<InboundResponse> refusal = {};
  /// Bytes of its body above which it is refused. At most `RequestSink::bodyBytesMax`.
  std::size_t bodyBytesMax = 0;
  /// Takes the body and calls `respond` once, on any thread, now or later. An exception is answered with 500.
  std::function<void(std::string body, Respond respond)> handle = {};
  /// For `handle`; null: its client is not watched.
  std::shared_ptr<ClientWatch> client = {};
  /// In place of `handle`, for an answer that goes on: called on the connection's executor. It opens `answer` in this
  /// call, or does not and calls `respond` as `handle` does.
  std::function<void(std::shared_ptr<AnswerStream> answer, Respond respond)> stream = {};
};

/// What an HTTP session needs of the handler of its requests.
struct RequestSink {
  using Respond = std::function<void(InboundResponse)>;

  /// Takes one request and calls `respond` once, on any thread, now or later. An exception is answered with 500.
  std::function<void(InboundRequest request, Respond respond)> handle;
  /// Bytes of a body above which a request is refused unread.
  std::size_t bodyBytesMax = 0;
  /// Bytes of a body that are worth reading, by the headers alone; a request with a larger one is handled without it,
  /// and its connection closed behind the answer. Empty: `bodyBytesMax` for all.
  std::function<std::size_t(const InboundRequest& head)> worthReading = {};
  /// For servers of more than an inbox: decides over each request by its head, whatever its path and method, in place
  /// of the three above. Empty: posts to the server's paths are served.
  std::function<Admission(const RequestHead& head)> admit = {};
};

}  // namespace ackbox::transport
