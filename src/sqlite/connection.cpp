#include "sqlite/connection.hpp"

#include <SQLiteCpp/Exception.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <exception>
#include <filesystem>
#include <system_error>

#include "sqlite/file_names.hpp"
#include "sqlite/wal/log_check.hpp"
#include "sqlite/wal/log_rewrite.hpp"
#include "sqlite/work_limit.hpp"

namespace ackbox::sqlite {
namespace {

constexpr int kSynchronousNormal = 1;
constexpr int kSynchronousFull = 2;

// The size of a log that is due for a checkpoint.
std::int64_t logBytes(sqlite3* connection, const OutboxOptions& options) {
  constexpr std::int64_t kFrameHeaderBytes = 24;
  return options.checkpointPages * (std::stoll(scalar(connection, "PRAGMA page_size")) + kFrameHeaderBytes);
}

int openFlags(const OutboxOptions& options) {
  return SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (options.createSchema ? SQLITE_OPEN_CREATE : 0);
}

// Creates the file, because SQLite would make it readable for everyone. Only if it does not exist: opening and closing
// a file that SQLite has open drops SQLite's locks.
void makeFile(const std::filesystem::path& file, std::uint32_t mode) {
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
  if (descriptor < 0) {
    // The file exists, or SQLite will report why it cannot be created.
    return;
  }
  // Whatever the process's mask says.
  (void)::fchmod(descriptor, mode);
  close(descriptor);
}

// A file may come from anyone, so its schema must not run as code.
void distrust(sqlite3* connection, const std::filesystem::path& file, bool isTrusted) {
  sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  if (isTrusted) {
    return;
  }
  // Twice the longest frame, and some overhead.
  constexpr int kBytesMax = 130 << 20U;
  constexpr int kDepthMax = 100;
  sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_limit(connection, SQLITE_LIMIT_LENGTH, kBytesMax);
  sqlite3_limit(connection, SQLITE_LIMIT_EXPR_DEPTH, kDepthMax);
  sqlite3_limit(connection, SQLITE_LIMIT_ATTACHED, 0);
  std::error_code unknown;
  const std::uintmax_t bytes = std::filesystem::file_size(file, unknown);
  const std::uintmax_t log = std::filesystem::file_size(file.string() + kLogEnding, unknown);
  limitWork(connection, workOn((bytes == std::uintmax_t(-1) ? 0 : bytes) + (log == std::uintmax_t(-1) ? 0 : log)));
}

// SQLite opens anything that has a log's name, and would wait forever for a writer of a FIFO.
void requireRegular(const std::filesystem::path& file) {
  std::error_code absent;
  const std::filesystem::path real = std::filesystem::weakly_canonical(file, absent);
  for (const char* end : {"", kLogEnding, kJournalEnding, kLogIndexEnding}) {
    const std::string path = (absent ? file : real).string() + end;
    struct stat found {};
    if (stat(path.c_str(), &found) == 0 && !S_ISREG(found.st_mode)) {
      throw Error(Errc::cannotOpen, path + " is no regular file" +
                                        (*end == '\0' ? "" : ", and SQLite would open it: delete it, or move it away"));
    }
  }
}

// Refuses a log without its database, as a restore leaves that was killed on a file system without links: SQLite would
// delete or apply the log. Looks at the logs first, because another process makes the file before its log.
void refuseLoneLog(const std::filesystem::path& file) {
  std::error_code absent;
  const std::filesystem::path real = std::filesystem::weakly_canonical(file, absent);
  for (const char* end : kLogEndings) {
    const std::string log = (absent ? file : real).string() + end;
    struct stat found {};
    if (stat(log.c_str(), &found) != 0 || found.st_size == 0) {
      continue;
    }
    const bool isThere = stat(file.c_str(), &found) == 0;
    // SQLite writes the first page of a file before a log of this kind, and after a journal.
    const bool isEmptied = isThere && found.st_size == 0 && std::string_view(end) == kLogEnding;
    if (!isThere || isEmptied) {
      throw Error(Errc::cannotOpen,
                  file.string() + (isThere ? " is empty" : " is not there") +
                      ", but its log exists, and the content of " + log +
                      " would be lost: put the file back beside it (where ackbox restore was interrupted, restore "
                      "again), or delete the log");
    }
  }
}

// Not known for a user's VFS: a new file then counts as empty.
bool isThere(const std::filesystem::path& file, const OutboxOptions& options) {
  struct stat found {};
  return !options.vfs.empty() || stat(file.c_str(), &found) == 0;
}

}  // namespace

SQLite::Database openDatabase(const std::filesystem::path& file, const OutboxOptions& options, int flags) {
  if (options.vfs.empty()) {
    requireRegular(file);
  }
  if ((flags & SQLITE_OPEN_URI) == 0 && options.vfs.empty()) {
    refuseLoneLog(file);
  }
  if ((flags & SQLITE_OPEN_CREATE) != 0 && options.vfs.empty()) {
    makeFile(file, options.fileMode);
  }
  try {
    SQLite::Database database(file.string(), flags, static_cast<int>(options.busyTimeout.count()), options.vfs);
    sqlite3_extended_result_codes(database.getHandle(), 1);
    distrust(database.getHandle(), file, options.trustSchema);
    return database;
  } catch (const SQLite::Exception& exception) {
    throw Error(errcOf(exception.getExtendedErrorCode()), file.string() + ": " + exception.what());
  }
}

Connection::Connection(const std::filesystem::path& file, const OutboxOptions& options, const Inspect& inspect)
    : wasThere_(isThere(file, options)),
      database_(openDatabase(file, options, openFlags(options))),
      prefix_(options.tablePrefix) {
  if (sqlite3_db_readonly(handle(), "main") == 1) {
    throw Error(Errc::databaseReadOnly, database_.getFilename());
  }
  // If this opening fails, a log that another process left is not checkpointed: its content may not be synced.
  std::error_code absent;
  const std::uintmax_t logSize = std::filesystem::file_size(file.string() + kLogEnding, absent);
  setFoldsAtClose(absent || logSize == 0);
  inspect(handle());
  enterWalMode(options);
  // Every ackbox connection leaves checkpoints to the store: before SQLite 3.51.3, a passive checkpoint may race
  // another connection's commit.
  execute(handle(), "PRAGMA wal_autocheckpoint=0");
  // Truncates a log that has grown behind a long reader when it restarts. The limit is twice the normal size, so that a
  // log normally keeps its blocks.
  execute(handle(), "PRAGMA journal_size_limit=" + std::to_string(2 * logBytes(handle(), options)));
  // SQLite 3.40 (but not 3.53) leaves wrong checksums in the log when a savepoint is undone in a transaction that has
  // outgrown the cache: recovery then loses that commit and those after it. So no transaction may spill.
  execute(handle(), "PRAGMA cache_spill=OFF");
  execute(handle(), "PRAGMA temp_store=MEMORY");
  execute(handle(), "PRAGMA secure_delete=OFF");
  execute(handle(), "PRAGMA foreign_keys=OFF");
  setFullSync(options.durability == Durability::powerCut);
  // Reads the file, so that the log is open.
  (void)scalar(handle(), "PRAGMA schema_version");
  logDifference_ = knownLogDifference();
  log_.emplace(
      handle(), [this] { doubtLog(); }, logDifference_.empty() ? nullptr : logDifference_.c_str());
}

void Connection::doubtLog() noexcept {
  isDoubtful_ = true;
  ++failures_;
  if (whenDoubted_) {
    whenDoubted_();
  }
}

void Connection::setFoldsAtClose(bool folds) noexcept {
  sqlite3_db_config(handle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, folds ? 0 : 1, nullptr);
}

Connection::~Connection() {
  setFoldsAtClose(!isDoubtful_);
}

sqlite3_vfs* vfsOf(sqlite3* connection) noexcept {
  sqlite3_vfs* found = nullptr;
  sqlite3_file_control(connection, "main", SQLITE_FCNTL_VFS_POINTER, static_cast<void*>(&found));
  return found;
}

void Connection::mendLog() {
  sqlite3_file* log = nullptr;
  sqlite3_file* database = nullptr;
  sqlite3_file_control(handle(), "main", SQLITE_FCNTL_JOURNAL_POINTER, static_cast<void*>(&log));
  sqlite3_file_control(handle(), "main", SQLITE_FCNTL_FILE_POINTER, static_cast<void*>(&database));
  int code = SQLITE_NOTFOUND;
  if (log != nullptr && log->pMethods != nullptr && database != nullptr && database->pMethods != nullptr) {
    const sqlite3_io_methods* const beneath = log_ ? log_->beneath() : nullptr;
    code = rewriteLog(log, beneath == nullptr ? *log->pMethods : *beneath, database);
  }
  // If this SQLite's index format is not known, the log is doubted only after a failure of this connection.
  isDoubtful_ = code != SQLITE_OK && (failures_ != 0 || code != SQLITE_NOTFOUND);
  isLost_ = isDoubtful_ && (code == SQLITE_CORRUPT || code == SQLITE_NOTFOUND);
  if (isLost_) {
    throw Error(Errc::ioError,
                "after a sync that failed, what was committed cannot be read back from the log: close the "
                "file in all processes, and open it again");
  }
  if (isDoubtful_) {
    throw Error(errcOf(code), "what the log holds cannot be written again, before which nothing is acknowledged: " +
                                  std::string(sqlite3_errstr(code)) + " (SQLite code " + std::to_string(code) + ")");
  }
}

void Connection::enterWalMode(const OutboxOptions& options) {
  if (options.createSchema && scalar(handle(), "PRAGMA page_count") == "0") {
    wasEmpty_ = wasThere_;
    execute(handle(), "PRAGMA auto_vacuum=INCREMENTAL");
  }
  // SQLite does not call the busy handler when two processes convert a new file at once, so this loop waits.
  for (std::chrono::milliseconds waited{0};; ++waited) {
    try {
      const std::string mode = scalar(handle(), "PRAGMA journal_mode=WAL");
      if (mode != "wal") {
        throw Error(Errc::databaseError, "the file cannot use a write-ahead log; its journal mode stays " + mode);
      }
      return;
    } catch (const Error& error) {
      if (error.code() != Errc::databaseBusy || waited >= options.busyTimeout) {
        throw;
      }
      sqlite3_vfs* const vfs = vfsOf(handle());
      vfs->xSleep(vfs, 1'000);
    }
  }
}

void Connection::setFullSync(bool full) {
  if (synchronous_ == kSynchronousFull && log_ && log_->syncCommits(full)) {
    return;
  }
  const int wanted = full ? kSynchronousFull : kSynchronousNormal;
  if (wanted == synchronous_) {
    return;
  }
  // The pragma acts when it is prepared, so a kept statement would do nothing on its second run; inside a transaction
  // it is ignored. So the value is read back.
  execute(handle(), full ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL");
  if (scalar(handle(), "PRAGMA synchronous") != std::to_string(wanted)) {
    synchronous_ = 0;
    throw Error(Errc::databaseError, "SQLite did not take the synchronous level");
  }
  synchronous_ = wanted;
}

bool Connection::hasMoved() const noexcept {
  int moved = 0;
  return sqlite3_file_control(handle(), "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK && moved != 0;
}

std::string Connection::whyLogNotBatched() const {
  const char* const reason = log_->whyOff();
  return reason == nullptr ? std::string() : reason;
}

void Connection::doubtSync() noexcept {
  synchronous_ = 0;
  if (log_) {
    // From now on SQLite's own settings apply.
    log_->syncCommits(true);
  }
}

}  // namespace ackbox::sqlite
