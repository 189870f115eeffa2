#include "hardships.hpp"

#include <poll.h>
#include <sched.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

namespace crash {
namespace {

std::filesystem::path signOf(const std::filesystem::path& database) {
  return database.string() + "-is-slow";
}

// Sets the policy of each thread, because it is a property of the thread.
void schedule(pid_t process, int policy) {
  const sched_param none{};
  std::error_code gone;
  for (const auto& task : std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/task", gone)) {
    // A thread may have ended meanwhile.
    if (sched_setscheduler(std::stoi(task.path().filename().string()), policy, &none) != 0 && errno != ESRCH) {
      throw std::system_error(errno, std::generic_category(), "cannot change how a process is scheduled");
    }
  }
}

struct Disk {
  sqlite3_vfs* platform = nullptr;
  sqlite3_vfs slow{};
  // The platform has one table of methods for each kind of locking, with the same sync; an agent uses one of them.
  sqlite3_io_methods methods{};
  int (*sync)(sqlite3_file*, int) = nullptr;
  std::string sign;
};

Disk& disk() {
  static Disk made;
  return made;
}

int slowSync(sqlite3_file* file, int flags) {
  if (access(disk().sign.c_str(), F_OK) == 0) {
    constexpr int kMilliseconds = 500;
    poll(nullptr, 0, kMilliseconds);
  }
  return disk().sync(file, flags);
}

int openSlow(sqlite3_vfs* /*vfs*/, const char* name, sqlite3_file* file, int flags, int* outFlags) {
  const int result = disk().platform->xOpen(disk().platform, name, file, flags, outFlags);
  if (result != SQLITE_OK || file->pMethods == nullptr || (flags & (SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_DB)) == 0) {
    return result;
  }
  if (disk().sync == nullptr) {
    disk().methods = *file->pMethods;
    disk().sync = std::exchange(disk().methods.xSync, slowSync);
  }
  if (file->pMethods->xSync == disk().sync && file->pMethods->xLock == disk().methods.xLock) {
    file->pMethods = &disk().methods;
  }
  return SQLITE_OK;
}

}  // namespace

Stopped::Stopped(pid_t process) : process_(process) {
  kill(process_, SIGSTOP);
}

Stopped::~Stopped() {
  kill(process_, SIGCONT);
}

Starved::Starved(pid_t process) : process_(process) {
  schedule(process_, SCHED_IDLE);
  for (unsigned count = 0; count < std::thread::hardware_concurrency(); ++count) {
    hogs_.emplace_back([this] {
      while (!ends_) {
      }
    });
  }
}

Starved::~Starved() {
  ends_ = true;
  for (std::thread& hog : hogs_) {
    hog.join();
  }
  schedule(process_, SCHED_OTHER);
}

bool Starved::isAllowed() {
  // Without a free processor even the return to the old policy may wait, so a separate thread tries it.
  bool isAllowed = false;
  std::thread([&isAllowed] {
    const sched_param none{};
    isAllowed = sched_setscheduler(0, SCHED_IDLE, &none) == 0 && sched_setscheduler(0, SCHED_OTHER, &none) == 0;
  }).join();
  return isAllowed;
}

SlowDisk::SlowDisk(const std::filesystem::path& database) : sign_(signOf(database)) {
  std::ofstream(sign_) << "each sync takes half a second\n";
}

SlowDisk::~SlowDisk() {
  std::error_code gone;
  std::filesystem::remove(sign_, gone);
}

void SlowDisk::obey(const std::filesystem::path& database) {
  Disk& made = disk();
  made.sign = signOf(database).string();
  made.platform = sqlite3_vfs_find(nullptr);
  made.slow = *made.platform;
  made.slow.zName = "slow-disk";
  made.slow.pNext = nullptr;
  made.slow.xOpen = openSlow;
  if (sqlite3_vfs_register(&made.slow, 1) != SQLITE_OK) {
    throw std::runtime_error("cannot register a VFS");
  }
}

}  // namespace crash
