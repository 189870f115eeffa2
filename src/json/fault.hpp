#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ackbox::json {

/// What keeps a text from being JSON that we read.
enum class Fault : std::uint8_t {
  none,
  /// Not the grammar of RFC 8259.
  syntax,
  /// Nested deeper than allowed.
  depth,
  /// Not UTF-8.
  encoding,
};

/// Checks the whole of `text`, in one pass, in memory of one bit per level. Numbers are checked by their grammar only:
/// no size of a number is a fault.
///
/// simdjson's parser is not used for this: it refuses integers beyond 64 bits and numbers beyond a double's range,
/// which RFC 8259 allows and which a payload may hold. Its check of UTF-8 is.
[[nodiscard]] Fault findFault(std::string_view text, std::size_t depthMax);

/// A fault and its place: of the byte that cannot stand where it does, or the end of a text that ends too early.
struct FoundFault {
  Fault fault = Fault::none;
  std::size_t position = 0;
};

/// The same as `findFault`, with the place of the first fault; of one of encoding, 0.
[[nodiscard]] FoundFault locateFault(std::string_view text, std::size_t depthMax);

/// Whether there is no fault.
[[nodiscard]] bool isValid(std::string_view text, std::size_t depthMax);

/// The position of what follows the white space at `position`, if there is any.
[[nodiscard]] std::size_t skipSpace(std::string_view text, std::size_t position) noexcept;

/// Where the bytes from `position` on end that a JSON string holds as they are: at the first control, quote or
/// backslash, or at the end of `text`. Most of a frame lies within strings.
[[nodiscard]] std::size_t plainEnd(std::string_view text, std::size_t position) noexcept;

}  // namespace ackbox::json
