#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sqlite/statement.hpp"
#include "store/sqlite/cache/counters.hpp"
#include "store/sqlite/cache/write_back.hpp"
#include "store/sqlite/sqlite_names.hpp"

namespace ackbox::store::sqlite {

/// The amount of data that the file keeps for one sender, or the amount that a row adds.
struct SenderShare {
  std::int64_t sessions = 0;
  std::int64_t origins = 0;
  std::int64_t marks = 0;
  std::int64_t bytes = 0;
  std::int64_t inbox = 0;
  std::int64_t inboxBytes = 0;

  SenderShare& operator+=(const SenderShare& other) noexcept;
  [[nodiscard]] SenderShare operator-() const noexcept;
  bool operator==(const SenderShare&) const = default;
};

// The share of each kind of row. `bytes` is an estimate: the texts of a key, which are also in an index, count twice,
// and the rest by its usual size. `senderRows` uses the same estimate.
[[nodiscard]] SenderShare shareOfSession(std::string_view source, std::string_view origin, std::string_view session);
[[nodiscard]] SenderShare shareOfOrigin(std::string_view source, std::string_view origin);
[[nodiscard]] SenderShare shareOfMark(std::string_view source, std::string_view id);
/// For a kept result of a deferred frame; `texts`: the bytes of its code, detail and data.
[[nodiscard]] SenderShare shareOfResult(std::string_view source, std::string_view origin, std::string_view session,
                                        std::string_view frameId, std::size_t texts);
[[nodiscard]] SenderShare shareOfWaiting(std::size_t dataBytes);

/// SQL: a table of `source,sessions,origins,marks,bytes,inbox,inbox_bytes` that is counted from all rows, for `verify`
/// and for a recount.
[[nodiscard]] std::string senderRows();

/// Rewrites `#inbound_senders` and its totals. In the caller's transaction; the cost grows with the number of rows.
void recountSenders(sqlite3* connection, std::string_view prefix);

/// The rows of `#inbound_senders`: changes gather in memory and are written once a commit. A frame of a known session
/// changes no row.
///
/// All in a transaction; changed outside nested scopes only. Thread-safety: none.
class SenderShares final : public UnscopedWriteBack {
public:
  SenderShares(sqlite3* connection, std::string_view prefix, Counters& counters);

  [[nodiscard]] const SenderShare& of(std::string_view source) { return entryOf(source)->second.share; }
  void add(std::string_view source, const SenderShare& difference);
  void flush() override;
  void forget() noexcept override;
  [[nodiscard]] bool isPending() const noexcept override { return !changed_.empty(); }

private:
  struct Entry {
    SenderShare share;
    bool isChanged = false;
  };

  using Entries = std::map<std::string, Entry, std::less<>>;

  /// Valid until `flush` or `forget`.
  Entries::iterator entryOf(std::string_view source);

  Counters& counters_;
  Statement select_;
  Statement write_;
  Statement remove_;
  Entries entries_;
  // The positions of the changed entries.
  std::vector<Entries::iterator> changed_;
};

}  // namespace ackbox::store::sqlite
