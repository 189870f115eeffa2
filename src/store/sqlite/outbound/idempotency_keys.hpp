#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "ackbox/receipt.hpp"
#include "sqlite/statement.hpp"
#include "store/sqlite/sqlite_names.hpp"

namespace ackbox::store::sqlite {

/// Which idempotency keys have been used, and by which message. Touched only by enqueues that have a key.
///
/// All in a transaction. Thread-safety: that of the connection.
class IdempotencyKeys {
public:
  IdempotencyKeys(sqlite3* connection, std::string_view prefix, std::chrono::milliseconds retention);

  /// The receipt of a repetition: the first message with `key`. Nothing when the key is free or empty.
  [[nodiscard]] std::optional<EnqueueReceipt> find(std::string_view key, WallTime now);
  /// Keeps `key`, if it is not empty, for the message of `receipt`. Forgets a few others that are over, so that they go
  /// twice as fast as they come.
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
