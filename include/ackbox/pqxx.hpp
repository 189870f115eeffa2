#pragma once

#include <chrono>
#include <string>

#include "ackbox/frame.hpp"
#include "ackbox/receipt.hpp"

namespace ackbox {

/// Enqueues inside a transaction of libpqxx, by the statement `ackbox.enqueue`: the frame commits or rolls back with
/// the business data (P2 in ARCHITECTURE.md). `transaction` is a `pqxx::work` or any other `pqxx::transaction_base`.
/// Include libpqxx's headers yourself; this one needs neither them nor a library, and no manager need be in the
/// process. See `PgOutboxWriter` for isolation, poolers, and transactions that are to be repeated.
///
/// Returns the receipt: `stored`, `duplicate`, `unknownPeer`, or `invalidFrame` for a `supersedeKey`, which the
/// statement does not have. A refusal leaves the transaction as it was. The limits of `OutboxOptions` do not count, and
/// an idempotency key is kept for 7 days. A manager finds the message at its next poll.
///
/// Throws what libpqxx throws: `pqxx::sql_error` with the SQLSTATE 22023 or 22P02 for a frame that breaks a rule, and
/// with 40001, 40P01 or 23505 if the transaction is to be repeated. The transaction has then failed.
///
/// Thread-safety: that of the transaction; one thread at a time.
template <typename Transaction>
EnqueueReceipt enqueue(Transaction& transaction, const Frame& frame) {
  EnqueueReceipt receipt;
  if (!frame.supersedeKey.empty()) {
    receipt.status = EnqueueStatus::invalidFrame;
    receipt.detail = "supersedeKey is not for a statement: use PgOutboxWriter";
    return receipt;
  }
  // 0 stands for no instant, and an empty text for none.
  const auto millisecondsOf = [](const auto& instant) -> long long {
    return instant ? std::chrono::duration_cast<std::chrono::milliseconds>(instant->time_since_epoch()).count() : 0;
  };
  const auto rows = transaction.exec_params(
      "SELECT e.status,e.message_id,coalesce(e.sequence,0),e.is_conflict FROM ackbox.peers AS p,LATERAL "
      "ackbox.enqueue(p.name,$2::text,$3::text,$4::text,$5::text,"
      "$6::text,$7::integer,nullif($8::bigint,0),nullif($9::bigint,0),nullif($10::text,''),nullif($11::text,''),"
      "nullif($12::text,'')) AS e WHERE p.name=$1::text AND p.removed_at_ms=0",
      frame.peer, frame.session, frame.type, frame.data.empty() ? std::string("null") : frame.data, frame.id,
      frame.idempotencyKey, static_cast<int>(frame.priority), millisecondsOf(frame.notBefore),
      millisecondsOf(frame.expiresAt), frame.traceparent, frame.correlationId, frame.resentOf);
  if (rows.empty()) {
    receipt.status = EnqueueStatus::unknownPeer;
    receipt.detail = "the database has no peer " + frame.peer;
    return receipt;
  }
  const auto row = rows[0];
  receipt.status = row[0].template as<std::string>() == "duplicate" ? EnqueueStatus::duplicate : EnqueueStatus::stored;
  receipt.messageId = row[1].template as<std::string>();
  receipt.sequence = row[2].template as<unsigned long long>();
  receipt.isConflict = row[3].template as<bool>();
  return receipt;
}

}  // namespace ackbox
