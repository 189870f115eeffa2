#pragma once

#include "bench/pace.hpp"
#include "bench/settings.hpp"

namespace ackbox::bench {

/// Rows per transaction in the raw baselines, and in the operations that are compared with them.
constexpr unsigned kBatch = 100;

class RawTable;

/// What SQLite itself can do: prepared inserts into the plainest table that could do the job (no index but the row's
/// key), `kBatch` per FULL transaction, one connection tuned as ackbox's is.
class RawInserts {
public:
  explicit RawInserts(const Settings& settings);
  ~RawInserts();
  RawInserts(const RawInserts&) = delete;
  RawInserts& operator=(const RawInserts&) = delete;

  /// Inserts for as long as `budget` lasts. Returns how many.
  std::uint64_t run(Budget& budget);

private:
  const std::filesystem::path file_;
  std::unique_ptr<RawTable> table_;
  std::uint64_t done_ = 0;
};

/// The same with the rest of a row's life: `kBatch` inserts in a FULL transaction, their state changed in a NORMAL
/// one, their deletion in another.
[[nodiscard]] Pace rawRowLife(const Settings& settings);

}  // namespace ackbox::bench
