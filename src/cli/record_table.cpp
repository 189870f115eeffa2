#include "cli/record_table.hpp"

#include <cctype>

#include "records/text.hpp"

namespace ackbox::cli {

std::string briefText(const records::Value& value, records::Form form, WallTime now) {
  if (records::isNone(value, form)) {
    return "-";
  }
  const WallTime* const instant = std::get_if<WallTime>(&value);
  std::string text = instant != nullptr ? records::agoText(now, *instant) : records::textOf(value, form);
  return form == records::Form::error ? records::shortened(text, records::kWhyWidth) : text;
}

std::string fullText(const records::Value& value, records::Form form, WallTime now) {
  const WallTime* const instant = std::get_if<WallTime>(&value);
  return instant != nullptr ? records::instantText(*instant) + " (" + records::agoText(now, *instant) + ")"
         : form == records::Form::error && !records::isNone(value, form) ? records::textOf(value, form)
                                                                         : briefText(value, form, now);
}

Table factTable() {
  return Table({{"", Align::left}, {"", Align::left}});
}

void addFact(Table& table, std::string_view label, std::string value) {
  std::string name(label);
  name.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(name.front())));
  table.add({std::move(name), std::move(value)});
}

}  // namespace ackbox::cli
