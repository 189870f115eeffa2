#pragma once

#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "sqlite/transaction.hpp"
#include "store/sqlite/context.hpp"
#include "store/types.hpp"

namespace ackbox::store {

/// Finds the rows that the machine does not know yet. Keys grow in commit order and are never used twice, so what is
/// new is above the last key taken: rows of own commits come from memory, those of others are read.
///
/// Between transactions. Thread-safety: none.
class Discovery {
public:
  Discovery(Context& context, Transaction& transaction);

  /// Rows of an own commit, in key order.
  void publish(const std::vector<delivery::RowSeen>& rows) noexcept;
  /// Of others' commits, those before the last transaction's begin are sure to be looked for.
  [[nodiscard]] NewRows take(std::size_t limit);
  /// Whether the last `take` read the file, others' rows among them.
  [[nodiscard]] bool hasScanned() const noexcept { return hasScanned_; }
  /// Nobody asks for now: own commits are not kept.
  void stop() noexcept;
  /// All live rows and their sessions are taken anew.
  void restart() noexcept;
  /// All live rows are taken anew, of sessions that stay known: old rows were put back, for the `recalls`th time.
  void startOver(std::int64_t recalls) noexcept;
  [[nodiscard]] const std::string& sessionName(delivery::SessionKey key) const;

private:
  void takePublished(std::size_t limit, NewRows& found);
  void scan(std::size_t limit, NewRows& found);
  void rescan() noexcept;
  /// True when the session was not known.
  bool introduce(delivery::SessionKey key, NewRows& found);
  [[nodiscard]] delivery::SessionInfo read(delivery::SessionKey key);
  /// A session's priority now, read once per `read`.
  [[nodiscard]] std::uint8_t priorityOf(delivery::SessionKey key,
                                        std::unordered_map<delivery::SessionKey, std::uint8_t>& read);

  Context& context_;
  Transaction& transaction_;
  Statement scan_;
  Statement selectSession_;
  delivery::MessageKey lastTaken_ = 0;
  // The file's version up to which everything committed by others has been taken; -1: nothing has.
  std::int64_t scannedVersion_ = -1;
  // See `Context::recallsDiscovered`: what it will be when the backlog has been taken.
  std::int64_t recalls_ = 0;
  // The last that was handed out, since the last restart.
  std::int64_t recallsHanded_ = 0;
  bool hasScanned_ = false;
  bool listening_ = true;
  // The backlog has been taken.
  bool caughtUp_ = false;
  std::deque<delivery::RowSeen> published_;
  std::unordered_map<delivery::SessionKey, std::string> sessions_;
};

}  // namespace ackbox::store
