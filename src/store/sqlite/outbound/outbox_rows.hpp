#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ackbox/frame.hpp"
#include "ackbox/options.hpp"
#include "ackbox/receipt.hpp"
#include "delivery/types.hpp"
#include "sqlite/statement.hpp"
#include "store/decisions/enqueue_limits.hpp"
#include "store/sqlite/cache/claim_cache.hpp"
#include "store/sqlite/outbound/message_ids.hpp"
#include "store/sqlite/outbound/vacated_numbers.hpp"
#include "store/sqlite/sqlite_names.hpp"
#include "store/types.hpp"

namespace ackbox::store::sqlite {

/// Identifies a session's row: by its name, or as a peer's queue of unordered messages of one priority.
struct SessionName {
  delivery::PeerKey peer = 0;
  std::string_view name;
  /// The value of the column `lane`: 0 for a session.
  std::uint8_t unorderedQueue = 0;

  /// The session, or the unordered queue, of `frame`.
  SessionName(delivery::PeerKey peerKey, const Frame& frame)
      : peer(peerKey),
        name(frame.session),
        unorderedQueue(frame.session.empty() ? static_cast<std::uint8_t>(frame.priority + 1) : std::uint8_t{0}) {}
  SessionName(delivery::PeerKey peerKey, std::string_view sessionName) : peer(peerKey), name(sessionName) {}
};

/// The part of a session that enqueues need. Its state may lag behind, see `LazySessionRows`.
struct SessionTail {
  delivery::SessionKey key = 0;
  /// Stays 0 in an unordered queue.
  std::uint64_t lastSequence = 0;
  std::uint8_t priority = kPriorityDefault;
  bool unordered = false;

  /// The next place, for a message of this priority.
  [[nodiscard]] SessionTail next(std::uint8_t messagePriority) const noexcept {
    return unordered ? *this : SessionTail{key, lastSequence + 1, messagePriority, false};
  }
};

/// A pending message that another one supersedes.
struct Supersedable {
  delivery::MessageKey key = 0;
  delivery::SessionKey session = 0;
  std::string messageId;
  std::uint64_t sequence = 0;
  std::int64_t bytes = 0;
  bool wasTried = false;
};

/// A message to be stored.
struct NewRow {
  delivery::MessageKey key = 0;
  OutboxRow row;
  std::optional<std::int64_t> idRest;
  std::string supersedeKey;

  NewRow(delivery::MessageKey newKey, const Frame& frame, const MessageId& id, const SessionTail& place, WallTime now);
};

/// The statements of an enqueue, the same on the store's connection and on an application's.
class OutboxRows {
public:
  OutboxRows(sqlite3* connection, std::string_view prefix);

  [[nodiscard]] std::optional<SessionTail> findSession(const SessionName& session);
  [[nodiscard]] SessionTail insertSession(const SessionName& session, std::uint8_t priority);
  void updatePriority(const SessionTail& tail);

  /// The maximum number of rows per statement: 8 rows cost three quarters of a statement for each, 32 a little less.
  static constexpr std::size_t kTogether = 32;
  /// Stores pending rows. Their message ids are unused: generated, or `repetitionOf` has found none.
  void insert(std::span<const NewRow> rows);
  /// The answer to `frame` if a message with its own id still exists.
  [[nodiscard]] std::optional<EnqueueReceipt> repetitionOf(const Frame& frame);

  /// The pending messages that `frame` would supersede, oldest first.
  [[nodiscard]] std::vector<Supersedable> supersedable(delivery::PeerKey peer, const Frame& frame);
  void remove(delivery::MessageKey key);
  /// Removes a superseded message.
  void supersede(const Supersedable& message);
  /// Called before the message gets another number.
  void vacate(delivery::MessageKey key);

private:
  /// The statements for rows of one shape, by their number of rows; prepared when they are first needed.
  class Inserts {
  public:
    Inserts(sqlite3* connection, std::string_view columns, std::string_view values, std::string_view prefix);
    /// `bind` adds a row's values to a query.
    template <typename Bind>
    void run(std::span<const NewRow> rows, const Bind& bind);

  private:
    [[nodiscard]] Statement& storing(std::size_t rows);

    sqlite3* const connection_;
    const std::string columns_;
    const std::string values_;
    const std::string prefix_;
    std::map<std::size_t, Statement> statements_;
  };

  sqlite3* const connection_;
  Statement findSession_;
  Statement insertSession_;
  Statement insertState_;
  Statement updatePriority_;
  Inserts plain_;
  Inserts full_;
  Statement sequenceOf_;
  Statement supersedable_;
  Statement remove_;
  VacatedNumbers vacated_;
};

/// The refusal of `frame` by a queue with the fill `fill`, from which the messages `replaced` are about to be removed.
[[nodiscard]] std::optional<EnqueueReceipt> refuseFull(const Frame& frame, Fill fill,
                                                       const std::vector<Supersedable>& replaced,
                                                       const OutboxOptions& options);

}  // namespace ackbox::store::sqlite
