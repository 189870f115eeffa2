#pragma once

#include <cstdint>
#include <filesystem>

#include "ackbox/inbound_handler.hpp"

namespace ackbox::bench {

/// The receiver's business table, in the file of its outbox: one row for each effect.
void createEffects(const std::filesystem::path& file);

/// A handler that adds one row, with the frame's data, in the frame's transaction.
[[nodiscard]] FrameHandler effectHandler();

/// Reads the table back: `expected` effects, each session's in order, none missing and none twice, by the numbers
/// that the workload wrote into the data. Throws `std::runtime_error` otherwise.
void verifyEffects(const std::filesystem::path& file, std::uint64_t expected);

}  // namespace ackbox::bench
