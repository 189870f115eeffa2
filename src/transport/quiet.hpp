#pragma once

namespace ackbox::transport {

/// Whether a socket has nothing to read. A healthy idle connection has not: the end of the stream means that the peer
/// closed it, and bytes that nobody asked for would be taken for the next answer.
[[nodiscard]] bool isSocketQuiet(int descriptor);

}  // namespace ackbox::transport
