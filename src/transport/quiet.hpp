#pragma once

#include <string>

namespace ackbox::transport {

/// Whether a socket has nothing to read. A healthy idle connection is quiet: the end of the stream means that the peer
/// closed it, and unrequested bytes would be taken for the next answer.
[[nodiscard]] bool isSocketQuiet(int descriptor);

/// Whether the other side has ended the connection, or its half of it. Earlier bytes may still be unread.
[[nodiscard]] bool hasSocketEnded(int descriptor);

/// See `Stream::peerAddress`.
[[nodiscard]] std::string peerAddressOf(int descriptor);

}  // namespace ackbox::transport
