#include "sqlite/backup.hpp"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <system_error>

#include "sqlite/connection.hpp"
#include "sqlite/snapshot.hpp"

namespace ackbox::sqlite {
namespace {

// About a megabyte, and 10 ms.
constexpr int kStepPages = 256;

[[noreturn]] void failOn(const std::filesystem::path& path, int error, Errc otherwise) {
  const bool isFull = error == ENOSPC || error == EDQUOT;
  throw Error(isFull ? Errc::diskFull : otherwise, path.string() + ": " + std::generic_category().message(error));
}

class Descriptor {
public:
  Descriptor(const std::filesystem::path& path, int flags, Errc otherwise)
      : number_(::open(path.c_str(), flags | O_CLOEXEC, S_IRUSR | S_IWUSR)) {
    if (number_ < 0) {
      failOn(path, errno, otherwise);
    }
  }
  ~Descriptor() { close(number_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  [[nodiscard]] int number() const noexcept { return number_; }

private:
  const int number_;
};

void syncFile(const std::filesystem::path& path, int flags) {
  const Descriptor descriptor(path, flags, Errc::ioError);
  if (fsync(descriptor.number()) != 0) {
    failOn(path, errno, Errc::ioError);
  }
}

void makeLike(const std::filesystem::path& to, const std::filesystem::path& file) {
  const Descriptor made(to, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, Errc::cannotOpen);
  // Uses the path: closing a descriptor of the file would drop SQLite's locks.
  struct stat original {};
  constexpr mode_t kPermissions = 0777;
  if (stat(file.c_str(), &original) == 0) {
    (void)fchmod(made.number(), original.st_mode & kPermissions);
  }
}

void copyPages(sqlite3* from, const std::filesystem::path& to, const OutboxOptions& options,
               const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
  const auto pageBytes = static_cast<std::uint64_t>(std::stoll(scalar(from, "PRAGMA page_size")));
  SQLite::Database target = openDatabase(to, options, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX);
  // No journal and no syncs, because an incomplete copy is worthless; it is synced when it is complete.
  execute(target.getHandle(), "PRAGMA journal_mode=OFF");
  execute(target.getHandle(), "PRAGMA synchronous=OFF");
  const std::unique_ptr<sqlite3_backup, int (*)(sqlite3_backup*)> backup(
      sqlite3_backup_init(target.getHandle(), "main", from, "main"), sqlite3_backup_finish);
  if (!backup) {
    throwSqlite(target.getHandle(), "copying the file");
  }
  for (int code = SQLITE_OK; code != SQLITE_DONE;) {
    code = sqlite3_backup_step(backup.get(), kStepPages);
    if (code != SQLITE_OK && code != SQLITE_DONE) {
      throw Error(errcOf(code), to.string() + ": " + sqlite3_errstr(code));
    }
    if (progress) {
      const auto pages = static_cast<std::uint64_t>(sqlite3_backup_pagecount(backup.get()));
      progress((pages - static_cast<std::uint64_t>(sqlite3_backup_remaining(backup.get()))) * pageBytes,
               pages * pageBytes);
    }
  }
}

}  // namespace

void syncFolderOf(const std::filesystem::path& file) {
  syncFile(std::filesystem::absolute(file).parent_path(), O_RDONLY | O_DIRECTORY);
}

void backUp(const std::filesystem::path& file, const std::filesystem::path& to, const OutboxOptions& options,
            const std::function<void(std::uint64_t done, std::uint64_t of)>& progress) {
  const ReadConnection source(file, options);
  const Snapshot snapshot(source.getHandle());
  // The snapshot begins with a read.
  (void)scalar(source.getHandle(), "PRAGMA schema_version");
  makeLike(to, file);
  try {
    copyPages(source.getHandle(), to, options, progress);
    syncFile(to, O_RDWR);
    syncFolderOf(to);
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove(to, ignored);
    throw;
  }
}

}  // namespace ackbox::sqlite
