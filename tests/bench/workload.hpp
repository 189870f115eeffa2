#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "ackbox/frame.hpp"
#include "ackbox/options.hpp"

namespace ackbox::bench {

constexpr std::size_t kFrameBytes = 512;
constexpr std::uint64_t kSessions = 1'000;
constexpr const char* kSenderAgent = "urn:ackbox:bench:sender";
constexpr std::string_view kReceiverAgent = "urn:ackbox:bench:receiver";

/// The `number`th message, from 0: sessions in turn, each message carrying its own place in its session, from 1, so
/// that a receiver can check the order without believing the library's own sequence.
[[nodiscard]] Frame frameOf(std::uint64_t number, std::uint64_t sessions = kSessions);

/// The place in its session that `frameOf` wrote into `data`. Throws `std::runtime_error` for anything else.
[[nodiscard]] std::uint64_t placeOf(std::string_view data);

/// An id as long as a UUID and, like a UUIDv7, in the order of its making: the kindest key for a baseline's index.
[[nodiscard]] std::string orderedId(std::uint64_t number);

/// Options of a sender that is not to be slowed down by its own limits.
[[nodiscard]] OutboxOptions outboxOptions(Durability durability);

}  // namespace ackbox::bench
