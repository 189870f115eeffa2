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

/// Finds the rows that the machine does not know yet. Keys grow in commit order and are never used twice, so new rows
/// are above the last key taken. Rows of this store's commits come from memory; others' rows are read.
///
/// Between transactions. Thread-safety: none.
class Discovery final : public store::Discovery {
public:
  Discovery(Context& context, Transaction& transaction, Holds& holds);

  /// Adds the rows of a commit of this store, in key order.
  void publish(const std::vector<delivery::RowSeen>& rows) noexcept;
  [[nodiscard]] NewRows take(std::size_t limit) override;
  void stop() noexcept override;
  void restart() noexcept override;
  /// Makes `take` return all live rows again, as old rows were put back, with recall `recalls`; sessions stay known.
  void startOver(std::int64_t recalls) noexcept;
  [[nodiscard]] const std::string& sessionName(delivery::SessionKey key) const override;

private:
  [[nodiscard]] NewRows takeRows(std::size_t limit);
  void takePublished(std::size_t limit, NewRows& found);
  void scan(std::size_t limit, NewRows& found);
  void rescan() noexcept;
  /// True if the session was not known; nothing if it is damaged, and its rows are skipped.
  std::optional<bool> introduce(delivery::SessionKey key, NewRows& found);
  /// Nothing if the session is missing, or not what was written.
  [[nodiscard]] std::optional<delivery::SessionInfo> read(delivery::SessionKey key);
  /// A session's current priority; `read` caches it.
  [[nodiscard]] std::uint8_t priorityOf(delivery::SessionKey key,
                                        std::unordered_map<delivery::SessionKey, std::uint8_t>& read);

  Context& context_;
  Transaction& transaction_;
  Holds& holds_;
  Statement scan_;
  Statement selectSession_;
  delivery::MessageKey lastTaken_ = 0;
  // The file's version up to which all rows of other connections have been taken; -1: none have.
  std::int64_t scannedVersion_ = -1;
  // The value of `Context::recallsDiscovered` after the backlog has been taken.
  std::int64_t recalls_ = 0;
  // The last recall that `take` has returned since the last restart.
  std::int64_t recallsHanded_ = 0;
  // Whether the last call read the file, including other connections' rows.
  bool hasScanned_ = false;
  bool listening_ = true;
  // Whether the backlog has been taken.
  bool caughtUp_ = false;
  std::deque<delivery::RowSeen> published_;
  std::unordered_map<delivery::SessionKey, std::string> sessions_;
  // Damaged sessions since the last restart. Later rows must not overtake the skipped ones.
  std::unordered_set<delivery::SessionKey> passedOver_;
};

}  // namespace ackbox::store::sqlite
