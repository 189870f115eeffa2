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

/// Reports that the client of a request has gone before its answer. Owned by the connection's executor.
struct ClientWatch {
  /// Set within `handle`, or never. From then until the answer the client is watched: when it ends the connection, or
  /// its half of it, the connection is closed and this is called, once.
  std::function<void()> gone = {};
};

/// How to treat a request, decided by its head alone.
struct Admission {
  using Respond = std::function<void(InboundResponse)>;

  /// If set: the request is refused with this answer, its body unread, and the connection is closed after the answer
  /// unless the body is empty.
  std::optional<InboundResponse> refusal = {};
  /// The limit of its body's bytes; a larger body is refused. At most `RequestSink::bodyBytesMax`.
  std::size_t bodyBytesMax = 0;
  /// Takes the body and calls `respond` once, on any thread, now or later. An exception is answered with 500.
  std::function<void(std::string body, Respond respond)> handle = {};
  /// For `handle`; null: its client is not watched.
  std::shared_ptr<ClientWatch> client = {};
  /// In place of `handle`, for an answer that goes on; called on the connection's executor. Either opens `answer` in
  /// this call, or leaves it and calls `respond` as `handle` does.
  std::function<void(std::shared_ptr<AnswerStream> answer, Respond respond)> stream = {};
};

/// What an HTTP session needs to have its requests handled.
struct RequestSink {
  using Respond = std::function<void(InboundResponse)>;

  /// Takes one request and calls `respond` once, on any thread, now or later. An exception is answered with 500.
  std::function<void(InboundRequest request, Respond respond)> handle;
  /// The limit of a body's bytes; a request with a larger body is refused unread.
  std::size_t bodyBytesMax = 0;
  /// The limit of a body's bytes by the headers alone; a request with a larger body is handled without it, and its
  /// connection is closed after the answer. Empty: `bodyBytesMax` for all.
  std::function<std::size_t(const InboundRequest& head)> worthReading = {};
  /// For servers that have more than an inbox: decides over each request by its head, for any path and method, in place
  /// of the three members above. Empty: POST requests to the server's paths are served.
  std::function<Admission(const RequestHead& head)> admit = {};
};

}  // namespace ackbox::transport
