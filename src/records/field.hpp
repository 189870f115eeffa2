#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "ackbox/clock.hpp"
#include "json/line.hpp"

namespace ackbox::records {

/// The JSON type of a field.
enum class Type : std::uint8_t {
  text,
  number,
  /// A number, or null.
  numberIfAny,
  flag,
  /// Milliseconds since 1970, or null.
  instant,
};

/// The value of a field; `std::monostate` if it has no value.
using Value = std::variant<std::monostate, std::string, std::int64_t, bool, WallTime>;

/// How a value is formatted for people. Programs get the plain value.
enum class Form : std::uint8_t {
  plain,
  /// An identifier, to be copied.
  id,
  /// An error: a list shows only its beginning.
  error,
  /// `1.2 MiB`
  bytes,
  /// `250 ms`
  milliseconds,
  /// A number; 0 means that there is no number.
  ordinal,
};

/// How a field is shown to people.
struct Shown {
  /// The name beside the value where a single record is shown; empty if it is not shown there.
  std::string_view label = {};
  /// The title of the column in the tool's lists; empty if it has no column.
  std::string_view column = {};
  Form form = Form::plain;
};

/// One field of a record, for every place that shows it: lines, lists and descriptions of the tool, answers of the
/// daemon and their description, and views of the page.
template <typename Record>
struct Field {
  /// The name in JSON; empty if only people see the field.
  std::string_view name;
  Type type = Type::text;
  /// A sentence for programmers that use the field.
  std::string_view meaning;
  Shown shown = {};
  /// `now` is used only by fields without a name.
  Value (*value)(const Record& record, WallTime now) = nullptr;
  /// The field is omitted from JSON if it has no value.
  bool isOptional = false;

  [[nodiscard]] constexpr bool isNumber() const { return type == Type::number || type == Type::numberIfAny; }
};

/// Whether people see the value as absent: no value, an empty text, no instant, or the 0 of an ordinal.
[[nodiscard]] bool isNone(const Value& value, Form form);
/// The text of a value other than an instant, such as `yes` for a flag.
[[nodiscard]] std::string textOf(const Value& value, Form form);

template <typename Given>
[[nodiscard]] consteval Type typeOf() {
  if constexpr (std::same_as<Given, bool>) {
    return Type::flag;
  } else if constexpr (std::integral<Given>) {
    return Type::number;
  } else if constexpr (std::same_as<Given, WallTime> || std::same_as<Given, std::optional<WallTime>>) {
    return Type::instant;
  } else if constexpr (std::same_as<Given, std::optional<std::int64_t>>) {
    return Type::numberIfAny;
  } else {
    static_assert(std::convertible_to<Given, std::string_view> || std::same_as<Given, Value>);
    return Type::text;
  }
}

template <typename Given>
[[nodiscard]] Value valueOf(const Given& given) {
  if constexpr (std::same_as<Given, Value>) {
    return given;
  } else if constexpr (std::same_as<Given, WallTime>) {
    // In records, the epoch stands for "no instant".
    return given == WallTime{} ? Value() : Value(given);
  } else if constexpr (std::same_as<Given, bool>) {
    return given;
  } else if constexpr (std::integral<Given>) {
    return static_cast<std::int64_t>(given);
  } else if constexpr (requires { given.has_value(); }) {
    return given ? valueOf(*given) : Value();
  } else {
    return std::string(given);
  }
}

/// Deduces the record type of a member, or of a function's first parameter.
template <typename Record, typename Given>
std::type_identity<Record> recordOf(Given Record::*);
template <typename Record, typename Given, typename... Now>
std::type_identity<Record> recordOf(Given (*)(const Record&, Now...));

template <auto Get>
[[nodiscard]] consteval auto recordOf() {
  if constexpr (requires { +Get; }) {
    return decltype(recordOf(+Get)){};
  } else {
    return decltype(recordOf(Get)){};
  }
}

template <auto Get>
using RecordOf = typename decltype(recordOf<Get>())::type;

/// A field with the value that `Get` yields: a member of the record, or a function of the record and optionally of now.
template <auto Get, typename Record = RecordOf<Get>>
[[nodiscard]] constexpr Field<Record> field(std::string_view name, std::string_view meaning, Shown shown = {}) {
  if constexpr (std::invocable<decltype(Get), const Record&>) {
    using Given = std::remove_cvref_t<std::invoke_result_t<decltype(Get), const Record&>>;
    return {name, typeOf<Given>(), meaning, shown,
            [](const Record& record, WallTime) { return valueOf<Given>(std::invoke(Get, record)); }};
  } else {
    return {name, Type::text, meaning, shown, Get};
  }
}

/// A field that only people see, and not programs.
template <auto Get>
[[nodiscard]] constexpr auto forPeople(Shown shown) {
  return field<Get>({}, {}, shown);
}

/// Makes `field` optional.
template <typename Record>
[[nodiscard]] constexpr Field<Record> ifAny(Field<Record> field) {
  field.isOptional = true;
  return field;
}

/// The record's fields, in order. The header of each record declares the specialization.
template <typename Record>
[[nodiscard]] std::span<const Field<Record>> fields();

void add(json::Line& line, std::string_view name, const Value& value);

template <typename Record>
void addFields(json::Line& line, const Record& record) {
  for (const Field<Record>& one : fields<Record>()) {
    const Value value = one.value(record, {});
    if (!one.name.empty() && !(one.isOptional && isNone(value, one.shown.form))) {
      add(line, one.name, value);
    }
  }
}

/// The record as one line of JSON.
template <typename Record>
[[nodiscard]] json::Line lineOf(const Record& record) {
  json::Line line;
  addFields(line, record);
  return line;
}

/// The records as a JSON array.
template <typename Record>
[[nodiscard]] std::string listOf(const std::vector<Record>& records) {
  std::string list;
  for (const Record& record : records) {
    list += (list.empty() ? "" : ",") + lineOf(record).text();
  }
  return "[" + list + "]";
}

}  // namespace ackbox::records
