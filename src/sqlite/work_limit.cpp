#include "sqlite/work_limit.hpp"

#include <memory>

#include "base/processor_time.hpp"

namespace ackbox::sqlite {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr milliseconds kLeast = std::chrono::seconds(5);
constexpr milliseconds kEachMegabyte = std::chrono::seconds(1);

// Virtual machine steps between two looks at the clock. One step is at most one call of a built-in function, which
// takes a second at most under the length limit of such a connection.
constexpr int kStepsBetweenLooks = 50;

struct Work {
  milliseconds most;
  nanoseconds begun;
};

int onStatement(unsigned /*kind*/, void* work, void* /*statement*/, void* /*sql*/) {
  static_cast<Work*>(work)->begun = processorTime();
  return 0;
}

int onProgress(void* work) {
  const auto* const known = static_cast<const Work*>(work);
  return processorTime() - known->begun > known->most ? 1 : 0;
}

void nothing(sqlite3_context* /*context*/, int /*count*/, sqlite3_value** /*values*/) {}

void destroy(void* work) {
  const std::unique_ptr<Work> owned(static_cast<Work*>(work));
}

}  // namespace

milliseconds workOn(std::uintmax_t fileBytes) noexcept {
  return kLeast + kEachMegabyte * static_cast<std::int64_t>(fileBytes >> 20U);
}

void limitWork(sqlite3* connection, milliseconds most) {
  auto work = std::make_unique<Work>(Work{most, processorTime()});
  Work* const known = work.release();
  // A function that is never called: when its connection closes, SQLite calls `destroy` for `known`. If the function
  // cannot be made, SQLite does so at once.
  const int made = sqlite3_create_function_v2(connection, "ackbox_work_limit", 0, SQLITE_UTF8 | SQLITE_DIRECTONLY,
                                              known, &nothing, nullptr, nullptr, &destroy);
  if (made != SQLITE_OK) {
    return;
  }
  sqlite3_trace_v2(connection, SQLITE_TRACE_STMT, &onStatement, known);
  sqlite3_progress_handler(connection, kStepsBetweenLooks, &onProgress, known);
}

}  // namespace ackbox::sqlite
