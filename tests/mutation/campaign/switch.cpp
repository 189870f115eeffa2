#include "switch.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

namespace {

// More than any build has planted defects; a byte each.
constexpr int kSitesMax = 1 << 16;

struct Switch {
  int chosen = 0;
  /// A byte for each site, set to 1 when it is reached; null unless ACKBOX_MUTANT_COVER names a file.
  unsigned char* reached = nullptr;
};

// The file is mapped and shared, so that what a process reached stays there however the process ends.
unsigned char* mapReached(const char* file) noexcept {
  const int descriptor = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0 || ftruncate(descriptor, kSitesMax) != 0) {
    std::abort();
  }
  void* const bytes = mmap(nullptr, kSitesMax, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  close(descriptor);
  if (bytes == MAP_FAILED) {
    std::abort();
  }
  return static_cast<unsigned char*>(bytes);
}

Switch readEnvironment() noexcept {
  Switch made;
  if (const char* const number = std::getenv("ACKBOX_MUTANT")) {
    made.chosen = std::atoi(number);
  }
  if (const char* const file = std::getenv("ACKBOX_MUTANT_COVER")) {
    made.reached = mapReached(file);
  }
  return made;
}

}  // namespace

bool ackboxMutant(int site) noexcept {
  // Static storage with the first call: objects that are made before main may ask too.
  static const Switch chosen = readEnvironment();
  if (chosen.reached != nullptr && site < kSitesMax) {
    __atomic_store_n(&chosen.reached[site], 1, __ATOMIC_RELAXED);
  }
  return chosen.chosen == site;
}
