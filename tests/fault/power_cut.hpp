#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "ackbox/options.hpp"
#include "support/memory_disk.hpp"
#include "support/temp_dir.hpp"

namespace ackbox::testing {

inline constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();

/// What Alice said, and when, by the length of the record.
struct Said {
  std::string messageId;
  std::string session;
  std::string data;
  std::string supersedeKey = {};
  bool rejected = false;
  std::size_t calledAt = kNever;
  std::size_t returnedAt = kNever;
  std::size_t discardCalledAt = kNever;
  std::size_t discardedAt = kNever;
};

/// One recorded run of two agents.
struct RecordedRun {
  std::array<DiskFiles, 2> start;
  std::shared_ptr<DiskRecord> record = std::make_shared<DiskRecord>();
  std::vector<Said> said;
  /// Syncs of each disk, also failed ones, and the calls that reported `Errc::ioError`.
  std::array<std::uint64_t, 2> syncs{};
  std::uint64_t failures = 0;
};

/// What is varied.
struct RunOptions {
  std::uint64_t seed = 1;
  std::size_t steps = 60;
  Durability durability = Durability::powerCut;
  bool ignoresSyncs = false;
  /// Both agents deliver by runs of their own, see `TwoAgents`.
  bool started = false;
  /// The sync of that number on a side's disk fails and forgets what it should have written, see `MemoryDisk::forgets`;
  /// 0: none does.
  std::array<std::uint64_t, 2> failingSyncs{};
  std::uint64_t forgetSeed = 0;
  /// See `MemoryDisk::sparesNeighbours`.
  bool batchedLog = true;
};

/// Enqueues, batches, deliveries, rejections, lost answers, redrives, discards, restarts, in an order
/// drawn from the seed.
[[nodiscard]] RecordedRun recordRun(const TempDir& folder, const RunOptions& options);

/// What each agent's disk holds.
using Images = std::array<DiskFiles, 2>;

/// Opens both agents on `images`, lets them finish, and holds what came of it against what was said until `moment`.
/// Returns how a promise was broken; nothing when all hold. The recovery is written to `record`, if any.
[[nodiscard]] std::vector<std::string> judgeImages(const TempDir& folder, const RunOptions& options,
                                                   const std::vector<Said>& said, std::size_t moment,
                                                   const Images& images,
                                                   const std::shared_ptr<DiskRecord>& record = {});

/// How the images were judged.
struct CutReport {
  /// Crash images of a single machine that the record allows, the other going on; and the pairs that were opened, one
  /// image per agent.
  std::uint64_t possible = 0;
  std::uint64_t opened = 0;
  /// Of those, images of a second power cut while the first was being recovered from.
  std::uint64_t secondCuts = 0;
  /// Opened images that broke a promise, and the first few ways in which they did.
  std::uint64_t broken = 0;
  std::vector<std::string> violations;
};

/// Opens `budget` of the crash images that the run allows, drawn from its seed over all moments; every one of a single
/// machine if there are fewer.
[[nodiscard]] CutReport cutPower(const TempDir& folder, const RunOptions& options, const RecordedRun& run,
                                 std::uint64_t budget);

}  // namespace ackbox::testing
