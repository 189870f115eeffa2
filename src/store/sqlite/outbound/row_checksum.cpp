#include "store/sqlite/outbound/row_checksum.hpp"
#include "store/kept_session.hpp"

#include <optional>
#include <string>
#include <utility>

#include "store/digest.hpp"
#include "store/sqlite/outbound/message_ids.hpp"

namespace ackbox::store::sqlite {
namespace {

std::uint64_t numberOf(const std::optional<WallTime>& instant) noexcept {
  return instant ? static_cast<std::uint64_t>(millis(*instant)) + 1 : 0;
}

/// Reads the rows of `#table`, and calls `isDamaged` for each; column 0 is the key.
template <typename IsDamaged>
void look(sqlite3* connection, std::string_view prefix, const std::string& table, std::string_view columns,
          std::vector<Finding>& findings, const IsDamaged& isDamaged) {
  constexpr std::size_t kMost = 100;
  Statement statement(connection, "SELECT " + std::string(columns) + " FROM #" + table, prefix);
  std::size_t found = 0;
  for (Query query(statement); found < kMost && query.next();) {
    if (isDamaged(query)) {
      findings.push_back(
          {std::string(prefix) + table, query.integer(0), "it is not what was written: its checksum differs"});
      ++found;
    }
  }
}

}  // namespace

std::int64_t checksumOf(delivery::MessageKey key, const OutboxRow& row) noexcept {
  const OutboundFrame& frame = row.frame;
  RowDigest digest;
  digest.add(static_cast<std::uint64_t>(row.session))
      .add(numberOf(frame.expiresAt))
      .add(frame.messageId)
      .add(frame.type)
      .add(frame.data);
  // Most rows have neither field.
  if (!frame.traceparent.empty() || !frame.correlationId.empty()) {
    digest.add(frame.traceparent).add(frame.correlationId);
  }
  const std::uint64_t place =
      static_cast<std::uint64_t>(key) + frame.sequence + static_cast<std::uint64_t>(millis(frame.enqueuedAt)) +
      static_cast<std::uint64_t>(digest.value()) + static_cast<std::uint64_t>(checksumOfResent(frame.resentOf));
  return static_cast<std::int64_t>(place & static_cast<std::uint64_t>(RowDigest::kMask));
}

OutboxRow readRow(delivery::MessageKey key, Columns& columns) {
  OutboxRow row;
  OutboundFrame& frame = row.frame;
  std::optional<std::string> messageId;
  std::optional<std::int64_t> idRest;
  std::int64_t checksum = 0;
  columns >> row.state >> frame.sequence >> row.attempt >> frame.retryCount >> frame.enqueuedAt >> row.dueAt >>
      frame.expiresAt >> messageId >> idRest >> frame.type >> frame.traceparent >> frame.correlationId >>
      frame.resentOf >> frame.data >> row.notBefore >> row.session >> checksum;
  frame.messageId = messageId ? *std::move(messageId) : messageIdOf(key, frame.enqueuedAt, idRest.value_or(0));
  row.isDamaged = checksum != checksumOf(key, row);
  return row;
}

std::int64_t checksumOf(const InboundFrame& frame) noexcept {
  RowDigest digest;
  digest.add(frame.origin)
      .add(frame.session)
      .add(frame.sequence)
      .add(frame.id)
      .add(frame.source)
      .add(frame.epoch)
      .add(frame.previousSequence)
      .add(frame.type)
      .add(frame.audience)
      .add(numberOf(frame.time))
      .add(numberOf(frame.expiresAt))
      .add(frame.traceparent)
      .add(frame.correlationId)
      .add(frame.data)
      .add(frame.dataContentType);
  // Most rows have none.
  if (!frame.resentOf.empty()) {
    digest.add(frame.resentOf);
  }
  return digest.value();
}

InboxRow readRow(Columns& columns) {
  InboxRow row;
  InboundFrame& frame = row.frame;
  std::string session;
  columns >> row.key >> row.starts >> row.retryCount >> row.deferred >> row.acceptedAt >> frame.origin >> session >>
      frame.sequence >> frame.id >> frame.source >> frame.epoch >> frame.previousSequence >> frame.type >>
      frame.audience >> frame.time >> frame.expiresAt >> frame.traceparent >> frame.correlationId >> frame.resentOf >>
      frame.data >> frame.dataContentType;
  // The digest of zeros is 0, and a row in a lost part at the file's end reads as zeros.
  frame.mailbox = KeptSession::mailboxOf(session);
  frame.session = KeptSession::sessionOf(session);
  const bool isElsewhere = !frame.mailbox.empty() && frame.mailbox != frame.audience;
  row.isDamaged = columns.next<std::int64_t>() != checksumOf(frame) || frame.id.empty() || isElsewhere;
  return row;
}

std::int64_t checksumOfResent(std::string_view id) noexcept {
  return id.empty() ? 0 : RowDigest().add(id).value();
}

std::string movedChecksum() {
  return std::string("(o.checksum+?4-o.id+?2-o.sequence+")
      .append(kMovedInstant)
      .append("-o.created_at_ms+iif(o.resent_of IS NULL,?7,0))&2147483647");
}

std::vector<Finding> damagedRows(sqlite3* connection, std::string_view prefix) {
  std::vector<Finding> findings;
  look(connection, prefix, "outbox", std::string("id,").append(kRowColumns), findings, [](Query& query) {
    Columns columns(query);
    const auto key = columns.next<std::int64_t>();
    return readRow(key, columns).isDamaged;
  });
  look(connection, prefix, "inbox", kInboxColumns, findings, [](Query& query) {
    Columns columns(query);
    return readRow(columns).isDamaged;
  });
  return findings;
}

}  // namespace ackbox::store::sqlite
