#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "ackbox/receipt.hpp"
#include "sqlite/statement.hpp"
#include "store/sqlite/sqlite_names.hpp"

namespace ackbox::store::sqlite {

/// The used idempotency keys and their messages. Only enqueues with a key access them.
///
/// All in a transaction. Thread-safety: that of the connection.
class IdempotencyKeys {
public:
  IdempotencyKeys(sqlite3* connection, std::string_view prefix, std::chrono::milliseconds retention);

  /// The receipt of a repetition: the first message with `key`. Nothing if the key is free or empty.
  [[nodiscard]] std::optional<EnqueueReceipt> find(std::string_view key, WallTime now);
  /// Stores `key`, if it is not empty, for the message of `receipt`. Deletes a few expired keys, so that they are
  /// deleted twice as fast as they are added.
  void remember(std::string_view key, const EnqueueReceipt& receipt, WallTime now);

private:
  void purge(WallTime now);
  [[nodiscard]] bool inOutbox(std::string_view messageId);

  const std::chrono::milliseconds retention_;
  Statement find_;
  Statement remember_;
  Statement over_;
  Statement extend_;
  Statement forget_;
  Statement inOutbox_;
};

}  // namespace ackbox::store::sqlite
