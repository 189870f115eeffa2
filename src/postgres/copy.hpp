#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "postgres/connection.hpp"

namespace ackbox::postgres {

/// Rows on their way into a table, by COPY in its text form. Between the constructor and `end`, the connection is used
/// for nothing else. All members throw `Error`.
class Copy {
public:
  /// `columns`: with commas between them.
  Copy(Connection& connection, std::string_view table, std::string_view columns);
  void add(std::span<const std::optional<std::string_view>> row);
  /// All rows are in the table.
  void end();

private:
  void send();

  Connection& connection_;
  std::string text_;
};

}  // namespace ackbox::postgres
