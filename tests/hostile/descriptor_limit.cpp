#include "hostile/descriptor_limit.hpp"

#include <dlfcn.h>
#include <sys/socket.h>

#include <atomic>
#include <bit>
#include <cerrno>
#include <filesystem>
#include <iterator>

namespace ackbox::testing {
namespace {

// 0: as many as the kernel allows.
std::atomic<std::size_t> limit = 0;
std::atomic<std::size_t> failed = 0;

}  // namespace

DescriptorLimit::DescriptorLimit(std::size_t count) {
  failed = 0;
  limit = count;
}

DescriptorLimit::~DescriptorLimit() {
  limit = 0;
}

std::size_t DescriptorLimit::failures() const {
  return failed;
}

// The listing has one itself.
std::size_t openDescriptors() {
  const std::filesystem::directory_iterator list("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(list), end(list))) - 1;
}

}  // namespace ackbox::testing

extern "C" int accept(int descriptor, sockaddr* address, socklen_t* size) {
  using Accept = int (*)(int, sockaddr*, socklen_t*);
  static const auto original = std::bit_cast<Accept>(dlsym(RTLD_NEXT, "accept"));
  const std::size_t most = ackbox::testing::limit;
  if (most > 0 && ackbox::testing::openDescriptors() >= most) {
    ++ackbox::testing::failed;
    errno = EMFILE;
    return -1;
  }
  return original(descriptor, address, size);
}
