#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "ackbox/clock.hpp"
#include "ackbox/inbound_request.hpp"

namespace ackbox::transport {

/// How an answer indicates the length of its body.
enum class Framing : std::uint8_t {
  /// By `Content-Length`.
  counted,
  /// By chunks, because the length is not known yet.
  chunked,
  /// By the end of the connection: the client's HTTP is too old for chunks.
  untilClosed,
};

/// The status line and the headers of an answer. `bodyBytes` is used with `Framing::counted` only.
[[nodiscard]] std::string headOf(const InboundResponse& response, Framing framing, std::size_t bodyBytes,
                                 bool keepAlive, WallTime now);

/// The line before a chunk's bytes.
[[nodiscard]] std::string chunkHead(std::size_t bytes);

}  // namespace ackbox::transport
