#pragma once

#include <cstdint>
#include <string_view>

#include "ackbox/inbound_request.hpp"

namespace ackbox::transport {

/// The answers that the server gives by itself, before or instead of its handler. The connection is closed after each,
/// because the bytes after an unread or unreadable request cannot be interpreted.
[[nodiscard]] InboundResponse badRequest(std::string_view detail);
[[nodiscard]] InboundResponse notFound();
[[nodiscard]] InboundResponse methodNotAllowed();
[[nodiscard]] InboundResponse codedContent();
[[nodiscard]] InboundResponse expectationFailed();
[[nodiscard]] InboundResponse bodyTooLarge(std::uint64_t bodyBytesMax);
[[nodiscard]] InboundResponse headersTooLarge(std::uint64_t headerBytesMax);
[[nodiscard]] InboundResponse handlerFailed();
[[nodiscard]] InboundResponse handlerTooSlow();
[[nodiscard]] InboundResponse noRoom();

}  // namespace ackbox::transport
