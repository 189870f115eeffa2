#pragma once

#include <cstdint>
#include <string_view>

namespace ackbox::store {

/// A frame's type and data in 64 bits, which distinguish a repetition from other data under the same id. It is stored:
/// never change it.
///
/// It finds mistakes, not attacks: a sender that wants two frames with one digest can make them, and deceives only the
/// receiver of its own frames, which takes the second for the first.
///
/// Source: MurmurHash64A by Austin Appleby, public domain; words are read with the lowest byte first.
[[nodiscard]] std::uint64_t digestOf(std::string_view type, std::string_view data) noexcept;

}  // namespace ackbox::store
