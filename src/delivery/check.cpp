#include "delivery/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace ackbox::delivery {

void checkFailed(const char* what, const char* file, int line) noexcept {
  std::fprintf(stderr, "ackbox: broken invariant: %s (%s:%d)\n", what, file, line);
  std::abort();
}

}  // namespace ackbox::delivery
