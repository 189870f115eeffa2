#pragma once

#include <array>
#include <cstdint>

namespace ackbox::sqlite {

// What SQLite adds to a file's name for those that it makes beside it: the write-ahead log, the rollback journal, and
// the log's index.
inline constexpr const char* kLogEnding = "-wal";
inline constexpr const char* kJournalEnding = "-journal";
inline constexpr const char* kLogIndexEnding = "-shm";

/// Of files that SQLite would apply to whatever file has the name.
inline constexpr std::array kLogEndings = {kLogEnding, kJournalEnding};
inline constexpr std::array kCompanionEndings = {kLogEnding, kJournalEnding, kLogIndexEnding};

/// Each connection in WAL mode holds this byte of the log's index while it lives. Source: SQLite's os_unix.c.
inline constexpr std::int64_t kIndexLifeByte = 128;

}  // namespace ackbox::sqlite
