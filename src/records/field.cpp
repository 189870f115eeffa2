#include "records/field.hpp"

#include "records/text.hpp"

namespace ackbox::records {

bool isNone(const Value& value, Form form) {
  return value == Value() || value == Value(std::string()) ||
         (form == Form::ordinal && value == Value(std::int64_t{0}));
}

std::string textOf(const Value& value, Form form) {
  if (const std::string* const text = std::get_if<std::string>(&value)) {
    return *text;
  }
  if (const std::int64_t* const number = std::get_if<std::int64_t>(&value)) {
    return form == Form::bytes          ? bytesText(static_cast<std::uint64_t>(*number))
           : form == Form::milliseconds ? std::to_string(*number) + " ms"
                                        : std::to_string(*number);
  }
  return value == Value(true) ? "yes" : "no";
}

void add(json::Line& line, std::string_view name, const Value& value) {
  if (value == Value()) {
    line.raw(name, "null");
  } else if (const std::string* const text = std::get_if<std::string>(&value)) {
    line.add(name, *text);
  } else if (const WallTime* const instant = std::get_if<WallTime>(&value)) {
    line.add(name, *instant);
  } else if (const bool* const flag = std::get_if<bool>(&value)) {
    line.add(name, *flag);
  } else {
    line.add(name, std::get<std::int64_t>(value));
  }
}

}  // namespace ackbox::records
