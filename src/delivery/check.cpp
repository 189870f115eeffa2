#include "delivery/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace ackbox::delivery {

void checkFailed(const char* what, const std::source_location& where) noexcept {
  std::fprintf(stderr, "ackbox: broken invariant: %s (%s:%u)\n", what, where.file_name(), where.line());
  std::abort();
}

}  // namespace ackbox::delivery
