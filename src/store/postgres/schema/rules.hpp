#pragma once

#include <string>
#include <vector>

#include "ackbox/diagnosis.hpp"
#include "postgres/connection.hpp"
#include "store/postgres/names.hpp"

namespace ackbox::store::postgres {

enum class Rules {
  all,
  /// Those of gauges alone, which a recount mends.
  gauges,
};

/// The rows that break a rule, at most 100 for each.
[[nodiscard]] std::vector<Finding> findingsOf(Connection& connection, Rules rules);

/// Statements that count all gauges from the rows.
[[nodiscard]] std::string recountSql();

}  // namespace ackbox::store::postgres
