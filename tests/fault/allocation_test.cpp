// Goal: when SQLite runs out of memory, anywhere, the process and every acknowledged message survive (P1, P3, P4, P5).
// Method: SQLite's allocator is replaced before its first use; the n-th allocation of an agent's work fails, once or
// together with all later ones, and then memory is available again. The short form takes some of the n, evenly spread;
// ACKBOX_TEST_SCALE multiplies them. C++'s own allocations do not fail: the standard library and the executors do not
// promise to survive that.

#include <doctest/doctest.h>
#include <sqlite3.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>

#include "fault_trial.hpp"
#include "sqlite/wal/log_check.hpp"
#include "support/scale.hpp"

namespace ackbox::testing::allocation_test {
namespace {

constexpr std::uint64_t kTrials = 30;
/// Of the allocations of the log's check, the short form has one in so many fail.
constexpr std::uint64_t kShortStep = 7;

/// Stands between SQLite and its allocator, and fails allocations.
struct Allocations {
  sqlite3_mem_methods real{};
  std::atomic<std::uint64_t> count{0};
  // 0: no allocation fails.
  std::atomic<std::uint64_t> failAt{0};
  std::atomic<bool> lasts{false};
  bool installed = false;

  Allocations();
  bool refuse() {
    const std::uint64_t number = ++count;
    const std::uint64_t from = failAt;
    return from != 0 && (number == from || (lasts && number > from));
  }
};

Allocations allocations;

Allocations::Allocations() {
  sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real);
  sqlite3_mem_methods counted = real;
  counted.xMalloc = [](int size) { return allocations.refuse() ? nullptr : allocations.real.xMalloc(size); };
  counted.xRealloc = [](void* memory, int size) {
    return allocations.refuse() ? nullptr : allocations.real.xRealloc(memory, size);
  };
  // Without lookaside memory, from which allocations would never fail.
  installed = sqlite3_config(SQLITE_CONFIG_MALLOC, &counted) == SQLITE_OK &&
              sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0) == SQLITE_OK;
}

using Work = void (FaultTrial::*)();

struct Tried {
  std::uint64_t allocations = 0;
  std::uint64_t trials = 0;
  std::uint64_t failures = 0;
};

void tryOnce(std::uint64_t nth, bool lasts, Work work, Tried& tried) {
  const TempDir folder;
  MemoryDisk disk;
  FaultTrial trial(folder, disk, {Errc::outOfMemory});
  allocations.count = 0;
  allocations.lasts = lasts;
  allocations.failAt = nth;
  (trial.*work)();
  allocations.failAt = 0;
  tried.allocations = nth == 0 ? allocations.count.load() : tried.allocations;
  trial.recover();
  ++tried.trials;
  tried.failures += trial.failures();
  for (const std::string& violation : trial.violations()) {
    FAIL_CHECK("allocation " << nth << std::string(lasts ? " and all after it" : "") << ": " << violation);
  }
}

void tryAll(bool lasts, Work work) {
  REQUIRE(allocations.installed);
  Tried tried;
  tryOnce(0, lasts, work, tried);
  REQUIRE(tried.allocations > 0);
  const std::uint64_t step = std::max<std::uint64_t>(1, tried.allocations / scaled(kTrials));
  for (std::uint64_t nth = 1; nth <= tried.allocations; nth += step) {
    tryOnce(nth, lasts, work, tried);
  }
  MESSAGE("allocations" << std::string(lasts ? ", lasting: " : ", once: ") << tried.allocations << " in SQLite, "
                        << tried.trials << " trials, " << tried.failures << " errors reported");
  CHECK(tried.failures > 0);
}

}  // namespace

TEST_CASE("P1 P3 P4 P5: whatever allocation of SQLite fails, single passes lose nothing and recover") {
  tryAll(false, &FaultTrial::work);
  tryAll(true, &FaultTrial::work);
}

TEST_CASE("P1 P3 P4: whatever allocation of SQLite fails, a run goes on when memory is back") {
  tryAll(false, &FaultTrial::workWithRun);
  tryAll(true, &FaultTrial::workWithRun);
}

TEST_CASE("P1 P3 P4: whatever allocation of SQLite fails, a run of the manager's own goes on when memory is back") {
  tryAll(false, &FaultTrial::workStarted);
  tryAll(true, &FaultTrial::workStarted);
}

TEST_CASE("whatever allocation of SQLite fails, the check of its log says no more than that there was no memory") {
  REQUIRE(allocations.installed);
  CHECK(sqlite::checkLog().empty());
  allocations.lasts = false;
  const std::uint64_t step = isLongForm() ? 1 : kShortStep;
  std::uint64_t refusals = 0;
  for (std::uint64_t nth = 1;; nth += step) {
    allocations.count = 0;
    allocations.failAt = nth;
    const std::string found = sqlite::checkLog();
    const bool isOver = allocations.count < nth;
    allocations.failAt = 0;
    if (isOver) {
      break;
    }
    refusals += found.empty() ? 0U : 1U;
    CAPTURE(nth);
    CHECK((found.empty() || found == "there is no memory for the check"));
  }
  MESSAGE(refusals << " checks were ended by a lack of memory");
  CHECK(refusals > 0);
}

}  // namespace ackbox::testing::allocation_test
