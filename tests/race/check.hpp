#pragma once

#include <cstdio>
#include <cstdlib>

namespace ackbox::race {

/// Ends the program with a message when `holds` is false; stays on in every build.
inline void check(bool holds, const char* promise) {
  if (!holds) {
    std::fprintf(stderr, "FAILED: %s\n", promise);
    std::exit(1);
  }
}

}  // namespace ackbox::race
