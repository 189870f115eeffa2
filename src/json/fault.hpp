#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ackbox::json {

/// The reason why a text is not JSON that this library reads.
enum class Fault : std::uint8_t {
  none,
  /// Not the grammar of RFC 8259.
  syntax,
  /// Nested deeper than allowed.
  depth,
  /// Not UTF-8.
  encoding,
};

/// Checks the whole of `text` in one pass, with memory of one bit per level. Numbers are checked by their grammar only:
/// their size is never a fault.
///
/// simdjson's parser is not used for this: it refuses integers beyond 64 bits and numbers beyond a double's range,
/// which RFC 8259 allows and a payload may hold. Its check of UTF-8 is used.
[[nodiscard]] Fault findFault(std::string_view text, std::size_t depthMax);

/// A fault and its position: the byte that is not allowed there, or the end of a text that ends too early.
struct FoundFault {
  Fault fault = Fault::none;
  std::size_t position = 0;
};

/// Like `findFault`, with the position of the first fault; 0 for a fault of encoding.
[[nodiscard]] FoundFault locateFault(std::string_view text, std::size_t depthMax);

/// Whether there is no fault.
[[nodiscard]] bool isValid(std::string_view text, std::size_t depthMax);

/// The position of the first byte from `position` on that is not white space, or the end of `text`.
[[nodiscard]] std::size_t skipSpace(std::string_view text, std::size_t position) noexcept;

/// The end of the bytes, from `position` on, that a JSON string holds unescaped: the first control character, quote or
/// backslash, or the end of `text`. Most of a frame lies within strings.
[[nodiscard]] std::size_t plainEnd(std::string_view text, std::size_t position) noexcept;

}  // namespace ackbox::json
