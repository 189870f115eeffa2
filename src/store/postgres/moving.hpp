#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ackbox/options.hpp"
#include "postgres/connection.hpp"
#include "postgres/copy.hpp"
#include "store/moving.hpp"
#include "store/postgres/names.hpp"
#include "store/postgres/schema/versions.hpp"

namespace ackbox::store::postgres {

/// A database that an outbox moves to, in one transaction, which is rolled back if this object ends before `commit`.
/// Meanwhile nothing else opens a store in the database.
///
/// Throws `Error`. Thread-safety: none.
class MovedDatabase final : public MovedRows {
public:
  /// Connects, and makes the tables if they are missing.
  MovedDatabase(const std::string& location, const OutboxOptions& options);

  /// Names the database among all, by whatever URL, also after its server has changed.
  [[nodiscard]] std::string identity();

  enum class Found : std::uint8_t { nothing, thisOutbox, anotherOutbox };
  /// Begins the transaction, after any other move to this database, and says what the database has.
  [[nodiscard]] Found beginMove(const MovedOutbox& outbox);

  void begin(std::string_view table, std::string_view columns) override;
  void add(std::span<const std::optional<std::string_view>> row) override;
  /// All rows were added: makes what the database keeps besides, and checks all of it. Throws `databaseError` if it
  /// breaks an invariant.
  void complete(const MovedOutbox& outbox);
  void commit();

private:
  const Schema& schema_ = currentSchema();
  Connection connection_;
  std::optional<Copy> copy_;
};

}  // namespace ackbox::store::postgres
