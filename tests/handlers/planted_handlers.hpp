#pragma once

#include <string>
#include <vector>

#include "ackbox/testing/check_handler.hpp"

namespace ackbox::test {

/// A handler of a bank, sound or with one planted defect.
struct PlantedHandler {
  /// What it does, for people and for the table.
  std::string what;
  /// Empty: it is sound.
  std::string instead;
  testing::HandlerFactory factory;
};

/// Tables, frames and senders of the bank.
[[nodiscard]] testing::CheckOptions bankOptions();

/// What must hold of the bank's file: each deposit once and in order, the balances add up, each deposit has its reply.
[[nodiscard]] std::string bankInvariant(SQLite::Database& database, const testing::Ledger& ledger);

[[nodiscard]] std::vector<PlantedHandler> soundHandlers();
[[nodiscard]] std::vector<PlantedHandler> plantedHandlers();

}  // namespace ackbox::test
