#include "sqlite/snapshot.hpp"

#include <string>

#include "sqlite/connection.hpp"
#include "sqlite/file_names.hpp"

namespace ackbox::sqlite {
namespace {

/// When the file was last written; if that is not known, an instant that no file has.
std::filesystem::file_time_type writtenAt(const std::filesystem::path& file) {
  std::error_code unknown;
  return std::filesystem::last_write_time(file, unknown);
}

/// Whether a nonempty log exists beside the file.
bool hasLog(const std::filesystem::path& file) {
  std::error_code absent;
  const std::uintmax_t bytes = std::filesystem::file_size(file.string() + kLogEnding, absent);
  return !absent && bytes != 0;
}

// The SQLite URI of a path.
std::string uriOf(const std::filesystem::path& file) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string uri = "file:";
  for (const char character : std::filesystem::absolute(file).string()) {
    if (character == '%' || character == '?' || character == '#') {
      const auto byte = static_cast<unsigned char>(character);
      uri.append("%").append(1, kDigits[byte >> 4U]).append(1, kDigits[byte & 15U]);
    } else {
      uri += character;
    }
  }
  return uri + "?immutable=1";
}

SQLite::Database openToRead(const std::filesystem::path& file, const OutboxOptions& options, bool& isImmutable) {
  SQLite::Database database = openDatabase(file, options, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX);
  try {
    // Reads the file: SQLite cannot read it where it may not make a log beside it.
    (void)scalar(database.getHandle(), "PRAGMA schema_version");
    return database;
  } catch (const Error& error) {
    // With another VFS it is not known whether there is a log, without which an immutable file shows old content.
    if ((error.code() != Errc::databaseReadOnly && error.code() != Errc::cannotOpen) || !options.vfs.empty() ||
        hasLog(file)) {
      throw;
    }
  }
  isImmutable = true;
  return openDatabase(uriOf(file), options, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX);
}

}  // namespace

ReadConnection::ReadConnection(const std::filesystem::path& file, const OutboxOptions& options)
    : file_(file), writtenAt_(writtenAt(file)), database_(openToRead(file, options, isImmutable_)) {
  execute(getHandle(), "PRAGMA query_only=ON");
  execute(getHandle(), "PRAGMA wal_autocheckpoint=0");
  sqlite3_db_config(getHandle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
}

bool ReadConnection::isOutdated() const {
  return isImmutable_ && (hasLog(file_) || std::filesystem::last_write_time(file_) != writtenAt_);
}

// Deletes an empty log, which this connection may have made; that checkpoints nothing.
ReadConnection::~ReadConnection() {
  std::error_code absent;
  const char* const log = sqlite3_filename_wal(sqlite3_db_filename(getHandle(), "main"));
  if (!isImmutable_ && std::filesystem::file_size(log, absent) == 0 && !absent) {
    sqlite3_db_config(getHandle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, nullptr);
  }
}

}  // namespace ackbox::sqlite
