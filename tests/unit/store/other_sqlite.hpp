#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <string>

namespace ackbox::testing {

/// Makes one connection behave as another SQLite might: it stands before the files of the connection, above a
/// `BatchedLog`, and changes the calls that SQLite makes.
///
/// Lifetime: ends before the `BatchedLog`, or `forget` is called after the connection was closed. Thread-safety: none;
/// one at a time.
class OtherSqlite {
public:
  enum class Habit : std::uint8_t {
    /// As it is.
    usual,
    /// A frame's header and page by one call.
    wholeFrames,
    /// A page before its header.
    pagesFirst,
    /// A page by two calls.
    splitPages,
    /// The commit mark is written when all else is.
    lateCommitMark,
    /// No commit mark: something else tells what is committed.
    noCommitMark,
    /// Headers of 32 bytes.
    longHeaders,
    /// Another lock is the writer's.
    otherLock,
    /// No lock is taken: the connection has the file to itself.
    noLock,
    /// A commit is synced before its last frame.
    earlySync,
    /// A commit is not synced.
    noCommitSync,
    /// A new log's header is not synced.
    noHeaderSync,
    /// A commit's sync comes when others know of it.
    lateSync,
  };

  OtherSqlite(sqlite3* connection, Habit habit);
  ~OtherSqlite() { restore(); }
  OtherSqlite(const OtherSqlite&) = delete;
  OtherSqlite& operator=(const OtherSqlite&) = delete;

  void restore() noexcept;
  /// The connection is closed: there is nothing to restore.
  void forget() noexcept;

private:
  struct File {
    sqlite3_file* file = nullptr;
    const sqlite3_io_methods* beneath = nullptr;
    sqlite3_io_methods methods{};
  };

  class Beneath;
  template <auto Method, typename... Arguments>
  static int pass(sqlite3_file* file, Arguments... arguments);
  static int write(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 offset);
  static int sync(sqlite3_file* file, int flags);
  static int lockShared(sqlite3_file* file, int offset, int count, int flags);
  /// Writes a header that waits for its page, when none came.
  int forwardWaiting();
  static int forward(const std::string& bytes, sqlite3_int64 offset);

  static OtherSqlite* instance_;

  const Habit habit_;
  File log_;
  File database_;
  // A header that waits for its page.
  std::string header_;
  sqlite3_int64 headerOffset_ = 0;
  // The call before this one wrote the log's header.
  bool wroteLogHeader_ = false;
  // SQLite has asked for a sync that is not made yet.
  bool owesSync_ = false;
};

}  // namespace ackbox::testing
