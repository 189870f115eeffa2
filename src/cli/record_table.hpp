#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ackbox/clock.hpp"
#include "cli/arguments.hpp"
#include "cli/console.hpp"
#include "cli/open.hpp"
#include "cli/table.hpp"
#include "records/field.hpp"

namespace ackbox::cli {

/// Formats a field's value for people; `-` if it has no value.
using CellText = std::string(const records::Value& value, records::Form form, WallTime now);
/// For a list of records: shortens an error, and prints an instant as `3 m ago`.
[[nodiscard]] CellText briefText;
/// For a single record: prints an instant as `2026-11-21 14:02:15 UTC (3 m ago)`.
[[nodiscard]] CellText fullText;

/// A table with a row for each record and a column for each field that has a title.
template <typename Record>
[[nodiscard]] Table tableOf(const std::vector<Record>& items, WallTime now, CellText& text = briefText) {
  std::vector<Table::Column> columns;
  for (const records::Field<Record>& field : records::fields<Record>()) {
    if (!field.shown.column.empty()) {
      columns.push_back({std::string(field.shown.column), field.isNumber() ? Align::right : Align::left});
    }
  }
  Table table(std::move(columns));
  for (const Record& item : items) {
    std::vector<std::string> cells;
    for (const records::Field<Record>& field : records::fields<Record>()) {
      if (!field.shown.column.empty()) {
        cells.push_back(text(field.value(item, now), field.shown.form, now));
      }
    }
    table.add(std::move(cells));
  }
  return table;
}

/// A table without titles, with a name and a value in each row.
[[nodiscard]] Table factTable();
void addFact(Table& table, std::string_view label, std::string value);

/// Adds the fields that have a label and a value.
template <typename Record>
void addFacts(Table& table, const Record& record, WallTime now) {
  for (const records::Field<Record>& field : records::fields<Record>()) {
    const records::Value value = field.value(record, now);
    if (!field.shown.label.empty() && !records::isNone(value, field.shown.form)) {
      addFact(table, field.shown.label, fullText(value, field.shown.form, now));
    }
  }
}

/// Prints a line of JSON for each record, or a table if there are records.
template <typename Record>
void print(Console& console, const std::vector<Record>& items) {
  if (console.json()) {
    for (const Record& item : items) {
      console.line(records::lineOf(item));
    }
  } else if (!items.empty()) {
    console.table(tableOf(items, console.now()));
  }
}

/// Prints the pages that `read(limit, after)` returns, each with its records and `next`, up to `--limit` records; then
/// the `--after` to continue with, or `nothing` if there were no records. Returns whether there were any.
template <typename Read>
bool printPages(Console& console, const Arguments& arguments, std::string_view nothing, const Read& read) {
  std::int64_t after = arguments.after;
  std::uint64_t shown = 0;
  do {
    const std::uint64_t left = arguments.limit == 0 ? kPage : arguments.limit - shown;
    const auto [items, next] = read(std::min<std::uint64_t>(left, kPage), after);
    print(console, items);
    after = next;
    shown += items.size();
  } while (after != 0 && (arguments.limit == 0 || shown < arguments.limit));
  if (after != 0) {
    console.remark("more: --after " + std::to_string(after));
  } else if (shown == 0 && !console.json()) {
    console.remark(nothing);
  }
  return shown != 0;
}

}  // namespace ackbox::cli
