#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ackbox::protocol {

/// Encodes by RFC 4648, section 4, with padding.
[[nodiscard]] std::string encodeBase64(std::span<const std::uint8_t> bytes);

/// Decodes exactly the texts that `encodeBase64` makes: no spaces, no missing padding, no stray bits. So each value has
/// only one text.
[[nodiscard]] std::optional<std::vector<std::uint8_t>> decodeBase64(std::string_view text);

}  // namespace ackbox::protocol
