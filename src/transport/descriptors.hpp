#pragma once

#include <cstddef>

namespace ackbox::transport {

/// How many descriptors this process may have open at once, now.
[[nodiscard]] std::size_t descriptorLimit();

/// How many connections one server or one sender may have, of so many descriptors: a quarter, and at most 256, is left
/// to the store's files and to what else the process has open.
[[nodiscard]] std::size_t connectionsWithin(std::size_t descriptors);

/// `connections`, or as many as the process's limit of descriptors leaves.
[[nodiscard]] std::size_t connectionsWithinLimit(std::size_t connections);

/// Whether the process can open nothing any more.
[[nodiscard]] bool isOutOfDescriptors() noexcept;

}  // namespace ackbox::transport
