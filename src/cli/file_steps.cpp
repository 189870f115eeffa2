#include "cli/file_steps.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "ackbox/error.hpp"

namespace ackbox::cli {
namespace {

namespace fs = std::filesystem;

// What SQLite would apply to whatever file has the name.
constexpr const char* kLogs[] = {"-wal", "-journal"};

[[noreturn]] void failOn(const fs::path& path, int error) {
  const bool isFull = error == ENOSPC || error == EDQUOT;
  const bool isForbidden = error == EACCES || error == EPERM || error == EROFS;
  throw Error(isFull        ? Errc::diskFull
              : isForbidden ? Errc::databaseReadOnly
                            : Errc::ioError,
              path.string() + ": " + std::generic_category().message(error));
}

void renameFile(const fs::path& from, const fs::path& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0) {
    failOn(to, errno);
  }
}

}  // namespace

bool isThere(const fs::path& file) {
  struct stat found {};
  return lstat(file.c_str(), &found) == 0;
}

PartialFile::PartialFile(const fs::path& place)
    : place_(place), path_(place.string() + ".partial-" + std::to_string(getpid())) {
  remove();
}

PartialFile::~PartialFile() {
  remove();
}

void PartialFile::remove() noexcept {
  for (const char* end : {"", "-wal", "-shm", "-ackbox-owners"}) {
    std::error_code ignored;
    fs::remove(path_.string() + end, ignored);
  }
}

void PartialFile::place(bool overwrite) {
  if (overwrite) {
    renameFile(path_, place_);
  } else if (link(path_.c_str(), place_.c_str()) != 0) {
    // Not every file system has links.
    if (errno == EEXIST || isThere(place_)) {
      throw Error(Errc::cannotOpen, place_.string() + " is there");
    }
    renameFile(path_, place_);
  }
  syncFolderOf(place_);
}

void syncFolderOf(const fs::path& file) {
  const fs::path folder = fs::absolute(file).parent_path();
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool isSynced = descriptor >= 0 && fsync(descriptor) == 0;
  const int error = errno;
  if (descriptor >= 0) {
    close(descriptor);
  }
  if (!isSynced) {
    failOn(folder, error);
  }
}

void moveAside(const fs::path& file, const fs::path& aside) {
  // A log gets its second name first. Without it, the file would be one from before its last commits; and SQLite
  // deletes a log that it finds beside a new file.
  for (const char* end : kLogs) {
    const std::string log = file.string() + end;
    if (isThere(log) && link(log.c_str(), (aside.string() + end).c_str()) != 0 && errno != EPERM && errno != ENOTSUP) {
      failOn(aside.string() + end, errno);
    }
  }
  if (isThere(file)) {
    renameFile(file, aside);
  }
  for (const char* end : kLogs) {
    const std::string log = file.string() + end;
    if (!isThere(log)) {
      continue;
    }
    if (!isThere(aside.string() + end)) {
      renameFile(log, aside.string() + end);
    } else if (unlink(log.c_str()) != 0) {
      failOn(log, errno);
    }
  }
  // It is made anew from the log.
  const std::string index = file.string() + "-shm";
  if (unlink(index.c_str()) != 0 && errno != ENOENT) {
    failOn(index, errno);
  }
  syncFolderOf(file);
}

bool makeLike(const fs::path& file, const fs::path& model) {
  struct stat wanted {};
  struct stat found {};
  if (stat(model.c_str(), &wanted) != 0 || stat(file.c_str(), &found) != 0) {
    return true;
  }
  constexpr mode_t kPermissions = 0777;
  (void)chmod(file.c_str(), wanted.st_mode & kPermissions);
  return (wanted.st_uid == found.st_uid && wanted.st_gid == found.st_gid) ||
         chown(file.c_str(), wanted.st_uid, wanted.st_gid) == 0;
}

}  // namespace ackbox::cli
