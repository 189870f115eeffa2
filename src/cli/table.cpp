#include "cli/table.hpp"

#include <algorithm>
#include <utility>

#include "ackbox/visible.hpp"
#include "records/text.hpp"

namespace ackbox::cli {

void Table::add(std::vector<std::string> cells) {
  for (std::string& cell : cells) {
    cell = visible(cell);
  }
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::text(const std::string& headingStart, const std::string& headingEnd) const {
  std::vector<std::size_t> widths;
  std::vector<std::string> titles;
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    std::size_t width = records::widthOf(columns_[column].title);
    for (const std::vector<std::string>& row : rows_) {
      width = std::max(width, records::widthOf(row[column]));
    }
    widths.push_back(width);
    titles.push_back(columns_[column].title);
  }
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string made;
    for (std::size_t column = 0; column < cells.size(); ++column) {
      const std::string padding(widths[column] - records::widthOf(cells[column]), ' ');
      made += column == 0 ? "" : "  ";
      made += columns_[column].align == Align::right ? padding + cells[column] : cells[column] + padding;
    }
    made.erase(made.find_last_not_of(' ') + 1);
    return made;
  };
  std::string made;
  if (std::any_of(titles.begin(), titles.end(), [](const std::string& title) { return !title.empty(); })) {
    made += headingStart + line(titles) + headingEnd + '\n';
  }
  for (const std::vector<std::string>& row : rows_) {
    made += line(row) + '\n';
  }
  return made;
}

}  // namespace ackbox::cli
