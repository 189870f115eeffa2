#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ackbox/clock.hpp"

namespace ackbox::json {

/// Appends `text` as a JSON string. What is not UTF-8 in it becomes U+FFFD, so that no text from an exception or a
/// header can spoil a document.
void appendString(std::string& out, std::string_view text);

/// Writes one object's members at the end of `out`. Keys are written as they are and must need no escapes.
///
/// Lifetime: `out` outlives it; nested objects and lists are written between `key` and the next member.
class ObjectWriter {
public:
  explicit ObjectWriter(std::string& out) : out_(out) { out_.push_back('{'); }

  /// The key alone; its value is the caller's to append.
  void key(std::string_view name);
  void text(std::string_view name, std::string_view value);
  /// As `appendTimestamp` writes it.
  void time(std::string_view name, WallTime value);
  /// Left out when empty.
  void textIfAny(std::string_view name, std::string_view value);
  /// JSON text, spliced in unchanged.
  void raw(std::string_view name, std::string_view json);
  void number(std::string_view name, std::uint64_t value);
  /// A decimal string: a JavaScript peer rounds numbers beyond 2^53.
  void counter(std::string_view name, std::uint64_t value);
  /// Members as another writer wrote them, without the braces around them.
  void members(std::string_view json);
  void close() { out_.push_back('}'); }

private:
  std::string& out_;
  bool first_ = true;
};

}  // namespace ackbox::json
