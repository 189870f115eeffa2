#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "store/reader.hpp"

// Messages as lines of JSON, in the form of proto/export.md. See `OutboxReader`.
namespace ackbox::manager {

std::uint64_t exportMessages(const store::Reader& reader, const MessageFilter& filter,
                             const std::function<void(std::string_view)>& sink);
std::uint64_t exportDeadLetters(const store::Reader& reader, const DeadLetterFilter& filter,
                                const std::function<void(std::string_view)>& sink);

}  // namespace ackbox::manager
