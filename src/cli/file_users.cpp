#include "cli/file_users.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <fstream>

#include "ackbox/options.hpp"
#include "sqlite/file_names.hpp"

namespace ackbox::cli {
namespace {

namespace fs = std::filesystem;

struct FileId {
  dev_t device = 0;
  ino_t inode = 0;

  bool operator==(const FileId&) const = default;
};

std::vector<FileId> idsOf(const fs::path& file) {
  std::vector<FileId> ids;
  for (const char* end : {"", sqlite::kLogEnding, sqlite::kLogIndexEnding}) {
    struct stat found {};
    if (stat((file.string() + end).c_str(), &found) == 0) {
      ids.push_back({found.st_dev, found.st_ino});
    }
  }
  return ids;
}

bool hasOpen(const fs::path& process, const std::vector<FileId>& ids) {
  std::error_code hidden;
  for (fs::directory_iterator at(process / "fd", hidden), end; !hidden && at != end; at.increment(hidden)) {
    struct stat opened {};
    if (stat(at->path().c_str(), &opened) == 0 &&
        std::find(ids.begin(), ids.end(), FileId{opened.st_dev, opened.st_ino}) != ids.end()) {
      return true;
    }
  }
  return false;
}

std::string programOf(const fs::path& process) {
  std::string name;
  std::ifstream stream(process / "comm");
  std::getline(stream, name);
  return name;
}

// Whether another process holds a lock on these bytes; `bytes` 0 means to the end of the file.
bool isLocked(const fs::path& file, off_t start, off_t bytes) {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (descriptor < 0) {
    return false;
  }
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = start;
  lock.l_len = bytes;
  const bool isHeld = fcntl(descriptor, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  close(descriptor);
  return isHeld;
}

}  // namespace

std::string FileUsers::text() const {
  std::string names;
  for (const FileUser& user : processes) {
    names += (names.empty() ? "process " : ", process ") + std::to_string(user.pid) +
             (user.program.empty() ? std::string() : " (" + user.program + ")");
  }
  return names.empty() && isLocked ? "a process that this user may not see" : names;
}

FileUsers usersOf(const fs::path& file, const fs::path& sidecar) {
  FileUsers users;
  const std::vector<FileId> ids = idsOf(file);
  std::error_code hidden;
  for (fs::directory_iterator at("/proc", hidden), end; !ids.empty() && !hidden && at != end; at.increment(hidden)) {
    const std::string name = at->path().filename().string();
    const auto isDigit = [](unsigned char character) { return std::isdigit(character) != 0; };
    if (std::all_of(name.begin(), name.end(), isDigit) && hasOpen(at->path(), ids)) {
      users.processes.push_back({std::stoll(name), programOf(at->path())});
    }
  }
  std::sort(users.processes.begin(), users.processes.end(),
            [](const FileUser& left, const FileUser& right) { return left.pid < right.pid; });
  // Skipped if a process was found: if that is this process, closing a descriptor would drop SQLite's locks.
  users.isLocked =
      users.processes.empty() &&
      (isLocked(file.string() + sqlite::kLogIndexEnding, sqlite::kIndexLifeByte, 1) || isLocked(sidecar, 0, 0));
  return users;
}

fs::path sidecarOf(const fs::path& file, const std::string& prefix) {
  std::error_code absent;
  const fs::path real = fs::weakly_canonical(file, absent);
  std::string path = (absent ? file : real).string() + "-ackbox-owners";
  if (prefix != OutboxOptions().tablePrefix) {
    path += '-';
    std::transform(prefix.begin(), prefix.end(), std::back_inserter(path),
                   [](unsigned char character) { return static_cast<char>(std::tolower(character)); });
  }
  return path;
}

}  // namespace ackbox::cli
