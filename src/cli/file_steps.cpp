#include "cli/file_steps.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "ackbox/error.hpp"
#include "cli/file_users.hpp"
#include "sqlite/file_names.hpp"

namespace ackbox::cli {
namespace {

namespace fs = std::filesystem;

// Ends the name of an empty file that exists beside the new name while a file and its logs are moved one by one.
constexpr const char* kMoving = "-moving";
constexpr std::array kWithCompanions = {
    "", sqlite::kLogEnding, sqlite::kJournalEnding, sqlite::kLogIndexEnding, "-ackbox-owners", kMoving};
constexpr std::string_view kPartial = ".partial-";
constexpr std::string_view kBefore = ".before-restore-";

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

// Whether the error means that the file system does not know this flag of renameat2.
bool isUnknown(int error) {
  return error == EINVAL || error == ENOSYS || error == ENOTSUP;
}

/// Renames without replacing a file. Returns false if `to` exists.
bool renameToFree(const fs::path& from, const fs::path& to) {
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) {
    return true;
  }
  if (isUnknown(errno)) {
    // Not every file system can rename in one call without replacing, and not every file system has links.
    if (link(from.c_str(), to.c_str()) == 0) {
      if (unlink(from.c_str()) != 0) {
        failOn(from, errno);
      }
      return true;
    }
    if (errno != EEXIST && !isThere(to)) {
      renameFile(from, to);
      return true;
    }
    errno = EEXIST;
  }
  if (errno != EEXIST) {
    failOn(to, errno);
  }
  return false;
}

bool isFree(const fs::path& name) {
  return std::none_of(kWithCompanions.begin(), kWithCompanions.end(),
                      [&](const char* end) { return isThere(name.string() + end); });
}

bool isSame(const fs::path& one, const fs::path& other) {
  struct stat first {};
  struct stat second {};
  return lstat(one.c_str(), &first) == 0 && lstat(other.c_str(), &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

bool linksTo(const fs::path& link, const fs::path& target) {
  std::error_code none;
  return fs::read_symlink(link, none) == target.filename();
}

/// The names in the folder of `file` that begin with its name and `mark`; empty if the folder cannot be read.
std::vector<std::string> namesBeside(const fs::path& file, std::string_view mark) {
  const std::string start = file.filename().string().append(mark);
  std::vector<std::string> found;
  std::error_code hidden;
  for (fs::directory_iterator at(fs::absolute(file).parent_path(), hidden), end; !hidden && at != end;
       at.increment(hidden)) {
    if (std::string name = at->path().filename().string(); name.starts_with(start)) {
      found.push_back(std::move(name));
    }
  }
  return found;
}

/// Names beside `file` that a restore made and that end with `end`; returned without `end`.
std::vector<fs::path> asidesOf(const fs::path& file, std::string_view end) {
  std::vector<fs::path> found;
  for (const std::string& name : namesBeside(file, kBefore)) {
    if (name.ends_with(end)) {
      found.push_back(file.parent_path() / name.substr(0, name.size() - end.size()));
    }
  }
  std::ranges::sort(found);
  return found;
}

void makeEmpty(const fs::path& file) {
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (descriptor < 0) {
    failOn(file, errno);
  }
  close(descriptor);
  syncFolderOf(file);
}

/// Moves `file` and the files beside it, as far as they exist, to `base` or, if that is taken, to another free name.
/// Continues a move that was killed: the remaining log belongs to the file that was already moved.
fs::path moveAway(const fs::path& file, const fs::path& base) {
  fs::path aside;
  for (const fs::path& begun : asidesOf(file, kMoving)) {
    if (aside.empty() && !isThere(file) && isThere(begun)) {
      aside = begun;
    } else {
      unlink((begun.string() + kMoving).c_str());
    }
  }
  if (aside.empty()) {
    aside = freeNameFor(base);
    makeEmpty(aside.string() + kMoving);
    if (isThere(file) && !renameToFree(file, aside)) {
      failOn(aside, EEXIST);
    }
  }
  for (const char* end : sqlite::kCompanionEndings) {
    const std::string companion = file.string() + end;
    if (isSame(companion, aside.string() + end)) {
      // If it stayed, it would be applied to the new file.
      if (unlink(companion.c_str()) != 0 && errno != ENOENT) {
        failOn(companion, errno);
      }
    } else if (isThere(companion) && !renameToFree(companion, aside.string() + end)) {
      failOn(aside.string() + end, EEXIST);
    }
  }
  syncFolderOf(file);
  unlink((aside.string() + kMoving).c_str());
  return aside;
}

/// Moves the file and its logs to a name beside it and makes `file` a link to that name, in one step. Returns the name;
/// empty if the file system cannot do so and nothing was changed.
fs::path leadTo(const fs::path& file, const fs::path& base) {
  fs::path aside = freeNameFor(base);
  // The link points to itself. No other process can take the name from here on.
  while (symlink(aside.filename().c_str(), aside.c_str()) != 0) {
    if (errno != EEXIST) {
      return {};
    }
    aside = freeNameFor(base);
  }
  std::vector<std::string> made = {aside.string()};
  int error = 0;
  for (const char* end : sqlite::kLogEndings) {
    const std::string log = file.string() + end;
    if (error == 0 && isThere(log)) {
      error = link(log.c_str(), (aside.string() + end).c_str()) == 0 ? 0 : errno;
      if (error == 0) {
        made.push_back(aside.string() + end);
      }
    }
  }
  if (error == 0 && renameat2(AT_FDCWD, file.c_str(), AT_FDCWD, aside.c_str(), RENAME_EXCHANGE) == 0) {
    syncFolderOf(file);
    return aside;
  }
  for (const std::string& name : made) {
    unlink(name.c_str());
  }
  return {};
}

bool isDead(std::string_view digits) {
  pid_t process = 0;
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), process);
  return failure == std::errc() && end == digits.data() + digits.size() && process > 0 && kill(process, 0) != 0 &&
         errno == ESRCH;
}

/// The files `<place>.partial-<process id>` of processes that have ended without deleting them.
std::vector<fs::path> leftBeside(const fs::path& place) {
  const std::size_t start = place.filename().string().append(kPartial).size();
  std::vector<fs::path> left;
  for (const std::string& name : namesBeside(place, kPartial)) {
    const std::string digits = name.substr(start, name.find('-', start) - start);
    // The number of a process in another container means nothing here, but its locks do.
    const fs::path path = place.string().append(kPartial).append(digits);
    if (isDead(digits) && !usersOf(path, path.string() + "-ackbox-owners").any()) {
      left.push_back(path);
    }
  }
  return left;
}

void removeAll(const fs::path& partial) noexcept {
  for (const char* end : kWithCompanions) {
    std::error_code ignored;
    fs::remove(partial.string() + end, ignored);
  }
}

std::string kindOf(mode_t mode) {
  return S_ISDIR(mode)    ? "a folder"
         : S_ISFIFO(mode) ? "a FIFO"
         : S_ISSOCK(mode) ? "a socket"
         : S_ISLNK(mode)  ? "a link that leads nowhere"
                          : "a device";
}

}  // namespace

bool isThere(const fs::path& file) {
  struct stat found {};
  return lstat(file.c_str(), &found) == 0;
}

PartialFile::PartialFile(const fs::path& place)
    : place_(place), path_(place.string().append(kPartial) + std::to_string(getpid())) {
  for (const fs::path& left : leftBeside(place)) {
    removeAll(left);
  }
  remove();
}

PartialFile::~PartialFile() {
  remove();
}

void PartialFile::remove() noexcept {
  removeAll(path_);
}

void PartialFile::place(bool overwrite) {
  if (overwrite) {
    renameFile(path_, place_);
  } else if (!renameToFree(path_, place_)) {
    throw Error(Errc::cannotOpen, place_.string() + " is there");
  }
  syncFolderOf(place_);
}

// At each instant, the name refers to the complete previous file or the complete new one. SQLite looks for a file's
// logs by the name that links lead to. It would apply any rollback journal or write-ahead log that it finds there,
// because nothing in either names its file. Therefore:
//
// 1. The logs get second names beside `aside`, which is still a link to itself: no file uses them.
// 2. The file and this link are exchanged. From here on the name leads to the previous file, which has its logs
//    beside it; no file uses the logs under their first names.
// 3. These first names are deleted.
// 4. The link is exchanged for the new file, which finds no log.
//
// A process that is killed in between leaves an outbox that can be opened. A later restore continues with step 3. If
// the file system has no links or no exchange, the file is moved away, then its logs, and then the new file gets the
// name. In between no file has the name; `howToPutBack` says what to do, or the next restore continues.
fs::path PartialFile::placeKeeping(const fs::path& base) {
  fs::path aside = interruptedRestoreOf(place_);
  if (aside.empty() && isThere(place_)) {
    aside = leadTo(place_, base);
  }
  if (aside.empty()) {
    const bool isAny = isThere(place_) || std::ranges::any_of(sqlite::kCompanionEndings, [this](const char* end) {
                         return isThere(place_.string() + end);
                       });
    aside = isAny ? moveAway(place_, base) : fs::path();
    place(false);
    return aside;
  }
  for (const char* end : sqlite::kLogEndings) {
    const std::string log = place_.string() + end;
    if (isSame(log, aside.string() + end)) {
      if (unlink(log.c_str()) != 0) {
        failOn(log, errno);
      }
    } else if (isThere(log) && !renameToFree(log, freeNameFor(base).string() + end)) {
      failOn(log, EEXIST);
    }
  }
  // SQLite recreates the index from the log.
  if (const std::string index = place_.string() + sqlite::kLogIndexEnding;
      unlink(index.c_str()) != 0 && errno != ENOENT) {
    failOn(index, errno);
  }
  syncFolderOf(place_);
  if (renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, place_.c_str(), RENAME_EXCHANGE) != 0) {
    failOn(place_, errno);
  }
  if (!linksTo(path_, aside)) {
    // Another process replaced the link in between: its file stays.
    (void)renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, place_.c_str(), RENAME_EXCHANGE);
    throw Error(Errc::cannotOpen, place_.string() + " was replaced meanwhile; nothing was changed");
  }
  unlink(path_.c_str());
  syncFolderOf(place_);
  return aside;
}

std::string whyNotRegular(const fs::path& path) {
  struct stat found {};
  // Follows a link; a dangling link is examined itself.
  if (stat(path.c_str(), &found) != 0 && lstat(path.c_str(), &found) != 0) {
    return {};
  }
  return S_ISREG(found.st_mode) ? std::string() : path.string() + " is no regular file, but " + kindOf(found.st_mode);
}

std::string whyCompanion(const fs::path& path) {
  const std::string name = path.string();
  for (const std::string_view end : kWithCompanions) {
    if (!end.empty() && name.ends_with(end) && isThere(name.substr(0, name.size() - end.size()))) {
      return name + " belongs to " + name.substr(0, name.size() - end.size());
    }
  }
  return {};
}

std::string whyNotRegularBeside(const fs::path& file) {
  std::error_code absent;
  const fs::path real = fs::weakly_canonical(file, absent);
  for (const char* end : sqlite::kCompanionEndings) {
    if (const std::string why = whyNotRegular((absent ? file : real).string() + end); !why.empty()) {
      return why + ": delete it, or move it away";
    }
  }
  return {};
}

fs::path freeNameFor(const fs::path& base) {
  fs::path name = base;
  for (int number = 2; !isFree(name); ++number) {
    name = base.string() + "-" + std::to_string(number);
  }
  return name;
}

fs::path interruptedRestoreOf(const fs::path& file) {
  std::error_code none;
  const fs::path target = fs::read_symlink(file, none);
  const bool isOurs =
      !none && target == target.filename() && target.string().starts_with(file.filename().string().append(kBefore));
  return isOurs ? file.parent_path() / target : fs::path();
}

std::string howToPutBack(const fs::path& file) {
  fs::path newest;
  for (const fs::path& name : asidesOf(file, "")) {
    const bool isBeside = std::any_of(kWithCompanions.begin() + 1, kWithCompanions.end(),
                                      [&](const char* companion) { return name.string().ends_with(companion); });
    std::error_code hidden;
    if (!isBeside && fs::is_regular_file(name, hidden)) {
      newest = name;
    }
  }
  if (newest.empty()) {
    return {};
  }
  std::string commands;
  for (const char* end : {sqlite::kLogEnding, sqlite::kJournalEnding, ""}) {
    if (const std::string kept = newest.string() + end; isThere(kept)) {
      commands += (commands.empty() ? "mv -n " : " && mv -n ") + kept + " " + file.string() + end;
    }
  }
  return commands;
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
