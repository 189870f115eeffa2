#pragma once

#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "sqlite/transaction.hpp"
#include "store/sqlite/context.hpp"
#include "store/sqlite/peers/holds.hpp"
#include "store/sqlite/sqlite_names.hpp"
#include "store/store.hpp"

namespace ackbox::store::sqlite {

/// Finds the rows that the machine does not know yet. Keys grow in commit order and are never used twice, so what is
/// new is above the last key taken: rows of own commits come from memory, those of others are read.
///
/// Between transactions. Thread-safety: none.
class Discovery final : public store::Discovery {
public:
  Discovery(Context& context, Transaction& transaction, Holds& holds);

  /// Rows of an own commit, in key order.
  void publish(const std::vector<delivery::RowSeen>& rows) noexcept;
  [[nodiscard]] NewRows take(std::size_t limit) override;
  void stop() noexcept override;
  void restart() noexcept override;
  /// All live rows are taken anew, of sessions that stay known: old rows were put back, for the `recalls`th time.
  void startOver(std::int64_t recalls) noexcept;
  [[nodiscard]] const std::string& sessionName(delivery::SessionKey key) const override;

private:
  [[nodiscard]] NewRows takeRows(std::size_t limit);
  void takePublished(std::size_t limit, NewRows& found);
  void scan(std::size_t limit, NewRows& found);
  void rescan() noexcept;
  /// True when the session was not known; nothing: it is damaged, and its rows are passed over.
  std::optional<bool> introduce(delivery::SessionKey key, NewRows& found);
  /// Nothing: it is missing, or not what was written.
  [[nodiscard]] std::optional<delivery::SessionInfo> read(delivery::SessionKey key);
  /// A session's priority now, read once per `read`.
  [[nodiscard]] std::uint8_t priorityOf(delivery::SessionKey key,
                                        std::unordered_map<delivery::SessionKey, std::uint8_t>& read);

  Context& context_;
  Transaction& transaction_;
  Holds& holds_;
  Statement scan_;
  Statement selectSession_;
  delivery::MessageKey lastTaken_ = 0;
  // The file's version up to which everything committed by others has been taken; -1: nothing has.
  std::int64_t scannedVersion_ = -1;
  // See `Context::recallsDiscovered`: what it will be when the backlog has been taken.
  std::int64_t recalls_ = 0;
  // The last that was handed out, since the last restart.
  std::int64_t recallsHanded_ = 0;
  // The last call read the file, others' rows among them.
  bool hasScanned_ = false;
  bool listening_ = true;
  // The backlog has been taken.
  bool caughtUp_ = false;
  std::deque<delivery::RowSeen> published_;
  std::unordered_map<delivery::SessionKey, std::string> sessions_;
  // Damaged, since the last restart. What is enqueued later must not overtake what was passed over.
  std::unordered_set<delivery::SessionKey> passedOver_;
};

}  // namespace ackbox::store::sqlite
