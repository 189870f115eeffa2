#include "transport/descriptors.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>

namespace ackbox::transport {
namespace {

constexpr std::size_t kDescriptorsKept = 256;
constexpr std::size_t kKeptPart = 4;
// More than any kernel allows.
constexpr std::size_t kDescriptorsMost = std::size_t{1} << 31U;

}  // namespace

std::size_t descriptorLimit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return std::numeric_limits<std::size_t>::max();
  }
  return static_cast<std::size_t>(limit.rlim_cur);
}

void raiseDescriptorLimit(std::size_t connections) {
  rlimit limit{};
  if (connectionsWithin(descriptorLimit()) >= connections || ::getrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return;
  }
  // From four times `kDescriptorsKept` on, no more than that is kept.
  const rlim_t wanted =
      std::clamp<rlim_t>(connections, kDescriptorsKept * kKeptPart, kDescriptorsMost) + kDescriptorsKept;
  limit.rlim_cur = limit.rlim_max == RLIM_INFINITY ? wanted : std::min(wanted, limit.rlim_max);
  // Whether it succeeded is seen by `descriptorLimit`.
  static_cast<void>(::setrlimit(RLIMIT_NOFILE, &limit));
}

std::size_t connectionsWithin(std::size_t descriptors) {
  return std::max<std::size_t>(descriptors - std::min(kDescriptorsKept, descriptors / kKeptPart), 1);
}

std::size_t connectionsWithinLimit(std::size_t connections) {
  return std::min(connections, connectionsWithin(descriptorLimit()));
}

bool isOutOfDescriptors() noexcept {
  const int descriptor = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    return errno == EMFILE || errno == ENFILE || errno == ENOMEM;
  }
  ::close(descriptor);
  return false;
}

}  // namespace ackbox::transport
