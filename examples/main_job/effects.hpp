#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "ackbox/inbound_handler.hpp"
#include "ledger.hpp"

namespace main_job {

/// Creates the business table `effects` in an agent's database, if it is not there. It has no UNIQUE constraint: a
/// frame that took effect twice must show.
void createEffects(const std::filesystem::path& database);

/// The effects so far, in the order in which they were applied.
[[nodiscard]] std::vector<Entry> readEffects(const std::filesystem::path& database);

/// How many they are.
[[nodiscard]] std::uint64_t countEffects(const std::filesystem::path& database);

/// A handler that writes each frame's effect in the handler's own transaction. With `replyTo`, the name of a peer, it
/// also answers every tenth frame of a session: effect, deduplication mark and reply commit together or not at all.
[[nodiscard]] ackbox::FrameHandler effectsHandler(std::string replyTo = {});

/// A frame's answer, by `replyTo`, when it is its turn; otherwise nothing is enqueued.
void replyIfDue(const ackbox::InboundFrame& frame, const std::string& replyTo, ackbox::InboundTransaction& transaction);

}  // namespace main_job
