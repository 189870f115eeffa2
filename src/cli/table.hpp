#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ackbox::cli {

enum class Align : std::uint8_t { left, right };

/// Rows of text in aligned columns.
class Table {
public:
  struct Column {
    std::string title;
    Align align = Align::left;
  };

  /// Columns without titles print no heading.
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// Adds a row, with one cell for each column; escapes characters that would control a terminal.
  void add(std::vector<std::string> cells);
  [[nodiscard]] bool empty() const noexcept { return rows_.empty(); }
  /// The heading, wrapped in `headingStart` and `headingEnd`, and the rows. The last column is not padded.
  [[nodiscard]] std::string text(const std::string& headingStart = {}, const std::string& headingEnd = {}) const;

private:
  const std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace ackbox::cli
