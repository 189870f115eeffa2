#include "serve/api/write_health.hpp"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "ackbox/error.hpp"

namespace ackbox::serve {
namespace {

constexpr std::chrono::seconds kRefusalCounts{10};
constexpr std::chrono::seconds kTrialCounts{5};
// More than a commit of one small message needs.
constexpr std::size_t kTrialBytes = std::size_t{64} * 1024;

std::string because(const std::filesystem::path& folder, int error) {
  return "nothing can be written to the folder " + folder.string() + ": " + std::generic_category().message(error);
}

/// For file systems without unnamed files.
std::string tryStatistics(const std::filesystem::path& folder) {
  struct statvfs found {};
  if (::statvfs(folder.c_str(), &found) != 0) {
    return because(folder, errno);
  }
  if ((found.f_flag & ST_RDONLY) != 0) {
    return because(folder, EROFS);
  }
  return found.f_bavail * found.f_frsize < kTrialBytes ? because(folder, ENOSPC) : std::string();
}

std::string tryWriting(const std::filesystem::path& folder) {
  const int file = ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0) {
    return errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL ? tryStatistics(folder) : because(folder, errno);
  }
  const std::string bytes(kTrialBytes, '\0');
  std::size_t written = 0;
  int error = 0;
  while (error == 0 && written < bytes.size()) {
    const ssize_t size = ::write(file, bytes.data() + written, bytes.size() - written);
    written += size > 0 ? static_cast<std::size_t>(size) : 0;
    error = size < 0 && errno != EINTR ? errno : 0;
  }
  ::close(file);
  return error == 0 ? std::string() : because(folder, error);
}

}  // namespace

// Follows a symbolic link, because SQLite writes to its target.
WriteHealth::WriteHealth(const std::filesystem::path& file, std::shared_ptr<Clock> clock)
    : folder_(file.empty() ? file : std::filesystem::weakly_canonical(std::filesystem::absolute(file)).parent_path()),
      clock_(std::move(clock)) {}

void WriteHealth::stored() {
  const MutexLock lock(mutex_);
  refusedAt_.reset();
}

void WriteHealth::refused(const std::error_code& cause) {
  if (folder_.empty() && cause == Errc::databaseBusy) {
    return;
  }
  const MutexLock lock(mutex_);
  refusedAt_ = clock_->steadyNow();
  cause_ = cause.message();
}

std::string WriteHealth::problem() {
  const SteadyTime now = clock_->steadyNow();
  {
    const MutexLock lock(mutex_);
    if (refusedAt_ && now - *refusedAt_ < kRefusalCounts) {
      return std::string("the ") + (folder_.empty() ? "database" : "file") + " refused the last enqueue: " + cause_;
    }
  }
  if (folder_.empty()) {
    return {};
  }
  const MutexLock lock(trialMutex_);
  if (!triedAt_ || now - *triedAt_ >= kTrialCounts) {
    found_ = tryWriting(folder_);
    triedAt_ = now;
  }
  return found_;
}

}  // namespace ackbox::serve
