#pragma once

#include <sqlite3.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ackbox::store {

/// The end of the write-ahead log that SQLite has written and the file beneath has not: pages that are appended one
/// after the other go out in one write, at the latest with the page that commits them.
///
/// SQLite writes each page of the log by two calls, 24 bytes that describe it and its content, and believes a commit
/// when the last call of it has returned. So the page whose description says that it commits is written before its
/// call returns, with all before it; only appends are gathered; and whatever else is done to the file finds it
/// complete. Source: https://www.sqlite.org/fileformat2.html#walformat
///
/// Returns SQLite's result codes. After a failed write the pages are kept and written again with the next, so that
/// nothing that SQLite believes written is missing from what it commits later.
///
/// Thread-safety: none. Lifetime: ends before the file.
class LogBuffer {
public:
  /// `methods` is what the file is written by, whatever its own table says.
  LogBuffer(sqlite3_file* file, const sqlite3_io_methods* methods);

  [[nodiscard]] int write(const void* bytes, int size, std::int64_t offset);

  /// What other calls but `write` begin with.
  [[nodiscard]] int flush();

  /// Whether a read of these bytes needs a `flush`.
  [[nodiscard]] bool holds(int size, std::int64_t offset) const noexcept;

  /// Whether a sync that follows now is that of a commit. The next one is not.
  [[nodiscard]] bool takeCommit() noexcept { return std::exchange(commits_, false); }

  /// Where the pages of this transaction end; -1 before its first.
  [[nodiscard]] std::int64_t end() const noexcept { return end_; }

  /// The transaction is over: what is left of it was never committed, and the place may be another process's now.
  void forget() noexcept;

private:
  [[nodiscard]] bool gathers(int size, std::int64_t offset) const noexcept;
  [[nodiscard]] int writeNow(const void* bytes, int size, std::int64_t offset);

  // Constant after construction.
  sqlite3_file* const file_;
  const sqlite3_io_methods* const methods_;

  // Not written yet: these bytes, at `start_`.
  std::vector<std::byte> bytes_;
  std::int64_t start_ = 0;
  std::int64_t end_ = -1;
  // The last description waits for its page.
  bool awaitsPage_ = false;
  // It is that of a page that commits.
  bool commits_ = false;
  // How much room a page needs: as much as the last one.
  std::size_t pageBytes_ = 0;
};

}  // namespace ackbox::store
