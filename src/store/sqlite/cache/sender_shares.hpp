#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sqlite/statement.hpp"
#include "store/decisions/sender_share.hpp"
#include "store/sqlite/cache/counters.hpp"
#include "store/sqlite/cache/write_back.hpp"
#include "store/sqlite/sqlite_names.hpp"

namespace ackbox::store::sqlite {

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
