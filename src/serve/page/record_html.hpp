#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ackbox/clock.hpp"
#include "records/field.hpp"
#include "serve/page/html.hpp"
#include "serve/page/parts.hpp"

namespace ackbox::serve::page {

/// A field's value, or a dash if it has no value.
[[nodiscard]] Html valueHtml(const records::Value& value, records::Form form, WallTime now);

/// Adds a name and a value to a `dl` list.
void addFact(Html& html, std::string_view label, const Html& value);

/// Adds the fields that have a label and a value. `adapt(name, value)` returns the HTML for the value; if that is
/// empty, the field is left out.
template <typename Record, typename Adapt>
void addFacts(Html& html, const Record& record, WallTime now, const Adapt& adapt) {
  for (const records::Field<Record>& field : records::fields<Record>()) {
    const records::Value value = field.value(record, now);
    if (!field.shown.label.empty() && !records::isNone(value, field.shown.form)) {
      addFact(html, field.shown.label, adapt(field.name, valueHtml(value, field.shown.form, now)));
    }
  }
}

/// A table with a row for each record and a column for each field that has a label.
template <typename Record>
[[nodiscard]] Html tableOf(std::string_view caption, const std::vector<Record>& items, WallTime now) {
  std::vector<std::string> heads;
  for (const records::Field<Record>& field : records::fields<Record>()) {
    if (!field.shown.label.empty()) {
      heads.push_back((field.isNumber() ? "#" : "") + std::string(field.shown.label));
    }
  }
  CardTable table(caption, std::move(heads));
  for (const Record& item : items) {
    for (const records::Field<Record>& field : records::fields<Record>()) {
      if (!field.shown.label.empty()) {
        table.cell(valueHtml(field.value(item, now), field.shown.form, now));
      }
    }
  }
  return table.html();
}

}  // namespace ackbox::serve::page
