#pragma once

#include <cstddef>

namespace ackbox::transport {

/// The current limit of open descriptors of this process.
[[nodiscard]] std::size_t descriptorLimit();

/// Raises the limit to what this many connections need, or to the process's hard limit if that is lower; never lowers
/// it.
void raiseDescriptorLimit(std::size_t connections);

/// The number of connections that one server or one sender may have with `descriptors` descriptors: a quarter of them,
/// at most 256, is left to the store's files and to the rest of the process.
[[nodiscard]] std::size_t connectionsWithin(std::size_t descriptors);

/// `connections`, or the number that the process's limit of descriptors allows, if it is smaller.
[[nodiscard]] std::size_t connectionsWithinLimit(std::size_t connections);

/// Whether the process can open no more descriptors.
[[nodiscard]] bool isOutOfDescriptors() noexcept;

}  // namespace ackbox::transport
