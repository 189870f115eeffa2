#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ackbox/clock.hpp"

namespace ackbox::json {

/// Appends `text` as a JSON string. Bytes that are not UTF-8 become U+FFFD, so that no text from an exception or a
/// header can make a document invalid.
void appendString(std::string& out, std::string_view text);

/// Writes one object's members at the end of `out`. Keys are written as they are and must need no escapes.
///
/// Lifetime: `out` outlives it; nested objects and lists are written between `key` and the next member.
class ObjectWriter {
public:
  explicit ObjectWriter(std::string& out) : out_(out) { out_.push_back('{'); }

  /// Writes the key alone; the caller appends its value.
  void key(std::string_view name);
  void text(std::string_view name, std::string_view value);
  /// Written by `appendTimestamp`.
  void time(std::string_view name, WallTime value);
  /// Omitted if `value` is empty.
  void textIfAny(std::string_view name, std::string_view value);
  /// Inserts JSON text unchanged.
  void raw(std::string_view name, std::string_view json);
  void number(std::string_view name, std::uint64_t value);
  /// Written as a decimal string: a JavaScript peer rounds numbers beyond 2^53.
  void counter(std::string_view name, std::uint64_t value);
  /// Inserts members from another writer, without the braces around them.
  void members(std::string_view json);
  void close() { out_.push_back('}'); }

private:
  std::string& out_;
  bool first_ = true;
};

}  // namespace ackbox::json
