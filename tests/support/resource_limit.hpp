#pragma once

#include <sys/resource.h>

#include <algorithm>
#include <stdexcept>

namespace ackbox::testing {

/// While it lives, this process has at most so much of a resource, such as `RLIMIT_NOFILE`.
class ResourceLimit {
public:
  /// An enumeration by glibc, a number elsewhere.
  using Resource = decltype(RLIMIT_NOFILE);

  ResourceLimit(Resource resource, rlim_t most) : resource_(resource) {
    if (::getrlimit(resource_, &before_) != 0) {
      throw std::runtime_error("the limit of a resource is unknown");
    }
    const rlimit lowered{std::min(most, before_.rlim_max), before_.rlim_max};
    if (::setrlimit(resource_, &lowered) != 0) {
      throw std::runtime_error("the limit of a resource cannot be set");
    }
  }
  ~ResourceLimit() { ::setrlimit(resource_, &before_); }
  ResourceLimit(const ResourceLimit&) = delete;
  ResourceLimit& operator=(const ResourceLimit&) = delete;

private:
  const Resource resource_;
  rlimit before_{};
};

}  // namespace ackbox::testing
