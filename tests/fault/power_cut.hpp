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

/// A message of Alice, and its times as lengths of the record.
struct Said {
  /// `kBob`, who applies it, or `kBox`, from which Alice fetches it.
  std::string peer;
  std::string messageId;
  std::string session;
  std::string data;
  std::string supersedeKey = {};
  bool rejected = false;
  /// The number of the publish that it is of; 0: it is of none.
  std::size_t publication = 0;
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
  /// The number of syncs of each disk, including failed ones, and of the calls that reported `Errc::ioError`.
  std::array<std::uint64_t, 2> syncs{};
  std::uint64_t failures = 0;
};

/// The parameters that tests vary.
struct RunOptions {
  std::uint64_t seed = 1;
  std::size_t steps = 60;
  Durability durability = Durability::powerCut;
  bool ignoresSyncs = false;
  /// Both agents deliver by their own runs, see `TwoAgents`.
  bool started = false;
  /// The number of the sync on each side's disk that fails and forgets its data, see `MemoryDisk::forgets`; 0: no sync
  /// fails.
  std::array<std::uint64_t, 2> failingSyncs{};
  std::uint64_t forgetSeed = 0;
  /// See `MemoryDisk::sparesNeighbours`.
  bool batchedLog = true;
  /// No image is opened after one that broke a promise.
  bool endsAtBroken = false;
};

/// Enqueues, batches, publishes, deliveries, fetches from a mailbox, rejections, lost answers, redrives, discards,
/// restarts, in an order drawn from the seed.
[[nodiscard]] RecordedRun recordRun(const TempDir& folder, const RunOptions& options);

/// The contents of each agent's disk.
using Images = std::array<DiskFiles, 2>;

/// Opens both agents on `images`, lets them finish, and compares the result with the messages enqueued until `moment`.
/// Returns the broken promises; empty when all hold. The recovery is written to `record`, if given.
[[nodiscard]] std::vector<std::string> judgeImages(const TempDir& folder, const RunOptions& options,
                                                   const std::vector<Said>& said, std::size_t moment,
                                                   const Images& images,
                                                   const std::shared_ptr<DiskRecord>& record = {});

/// The results of judging the images.
struct CutReport {
  /// The crash images of a single machine that the record allows while the other machine goes on; and the pairs that
  /// were opened, one image for each agent.
  std::uint64_t possible = 0;
  std::uint64_t opened = 0;
  /// Of those, images of a second power cut during the recovery from the first.
  std::uint64_t secondCuts = 0;
  /// Opened images that broke a promise, and the first few violations.
  std::uint64_t broken = 0;
  std::vector<std::string> violations;
};

/// Opens `budget` of the crash images that the run allows, drawn from its seed over all moments; if there are fewer,
/// opens every image of a single machine.
[[nodiscard]] CutReport cutPower(const TempDir& folder, const RunOptions& options, const RecordedRun& run,
                                 std::uint64_t budget);

}  // namespace ackbox::testing
