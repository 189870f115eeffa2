#include "c_abi/readiness.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "ackbox/error.hpp"

namespace ackbox::c_abi {
namespace {

int open() {
  const int descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (descriptor < 0) {
    throw Error(Errc::outOfDescriptors, "eventfd: " + std::generic_category().message(errno));
  }
  return descriptor;
}

}  // namespace

Readiness::Readiness() : descriptor_(open()) {}

Readiness::~Readiness() {
  close(descriptor_);
}

void Readiness::set(Source source, bool isReady) noexcept {
  const MutexLock lock(mutex_);
  const unsigned before = ready_;
  const auto bit = static_cast<unsigned>(source);
  ready_ = isReady ? before | bit : before & ~bit;
  // The counter is 0 or 1, so neither call can block or fail.
  eventfd_t count = 0;
  if (before == 0 && ready_ != 0) {
    eventfd_write(descriptor_, 1);
  } else if (before != 0 && ready_ == 0) {
    eventfd_read(descriptor_, &count);
  }
}

}  // namespace ackbox::c_abi
