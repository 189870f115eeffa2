// Preloaded into the other queues' processes: a disk whose every sync takes 2 ms longer, as `endToEndSlowDisk` has it.

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "bench/rest.hpp"

namespace {

constexpr std::chrono::milliseconds kDelay{2};

int syncSlowly(long call, int file) {
  const auto result = static_cast<int>(syscall(call, file));
  const int error = errno;
  ackbox::bench::rest(kDelay);
  errno = error;
  return result;
}

}  // namespace

extern "C" int fsync(int file) {
  return syncSlowly(SYS_fsync, file);
}

extern "C" int fdatasync(int file) {
  return syncSlowly(SYS_fdatasync, file);
}
