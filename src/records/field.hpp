#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "ackbox/clock.hpp"
#include "json/line.hpp"

namespace ackbox::records {

/// What a field is in JSON.
enum class Type : std::uint8_t {
  text,
  number,
  flag,
  /// Milliseconds since 1970, or null.
  instant,
};

/// One field of a record, wherever a program reads it: a line of the tool, an answer of the daemon, its description.
template <typename Record>
struct Field {
  std::string_view name;
  Type type = Type::text;
  /// A sentence for people who program against it.
  std::string_view meaning;
  /// Adds the value under the name.
  void (*add)(json::Line& line, std::string_view name, const Record& record) = nullptr;
};

/// Null in JSON, where the record has the epoch for it.
[[nodiscard]] constexpr std::optional<WallTime> instantIfAny(WallTime instant) {
  return instant == WallTime{} ? std::nullopt : std::optional(instant);
}

template <typename Value>
[[nodiscard]] consteval Type typeOf() {
  if constexpr (std::same_as<Value, bool>) {
    return Type::flag;
  } else if constexpr (std::integral<Value>) {
    return Type::number;
  } else if constexpr (std::same_as<Value, WallTime> || std::same_as<Value, std::optional<WallTime>>) {
    return Type::instant;
  } else {
    static_assert(std::convertible_to<Value, std::string_view>);
    return Type::text;
  }
}

/// A field whose value `Get` gives: a member of the record, or a function of it.
template <typename Record, auto Get>
[[nodiscard]] constexpr Field<Record> field(std::string_view name, std::string_view meaning) {
  using Value = std::remove_cvref_t<std::invoke_result_t<decltype(Get), const Record&>>;
  return {name, typeOf<Value>(), meaning, [](json::Line& line, std::string_view key, const Record& record) {
            if constexpr (std::same_as<Value, WallTime>) {
              line.add(key, instantIfAny(std::invoke(Get, record)));
            } else {
              line.add(key, std::invoke(Get, record));
            }
          }};
}

/// The record as one line of JSON, with its fields in their order.
template <typename Record>
[[nodiscard]] json::Line lineOf(std::span<const Field<Record>> fields, const Record& record) {
  json::Line line;
  for (const Field<Record>& one : fields) {
    one.add(line, one.name, record);
  }
  return line;
}

}  // namespace ackbox::records
