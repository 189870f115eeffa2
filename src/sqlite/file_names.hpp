#pragma once

#include <array>
#include <cstdint>

namespace ackbox::sqlite {

// The suffixes of the files that SQLite makes beside a database: the write-ahead log, the rollback journal, and the
// log's index.
inline constexpr const char* kLogEnding = "-wal";
inline constexpr const char* kJournalEnding = "-journal";
inline constexpr const char* kLogIndexEnding = "-shm";

/// Of the files that SQLite would apply to any database of the matching name.
inline constexpr std::array kLogEndings = {kLogEnding, kJournalEnding};
inline constexpr std::array kCompanionEndings = {kLogEnding, kJournalEnding, kLogIndexEnding};

/// Each connection in WAL mode holds this byte of the log's index while it lives. Source: SQLite's os_unix.c.
inline constexpr std::int64_t kIndexLifeByte = 128;

}  // namespace ackbox::sqlite
