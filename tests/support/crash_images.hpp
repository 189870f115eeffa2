#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "support/memory_disk.hpp"

namespace ackbox::testing {

/// Which unsynced changes of a disk survive a power cut. What was synced always does.
struct Survival {
  enum class Rule : std::uint8_t {
    /// Every change: what a killed process leaves.
    all,
    /// None of them; with `names`, new files and deletions all the same.
    none,
    /// All but piece number `piece`.
    allBut,
    /// Only piece number `piece`.
    only,
    /// Each piece by the throw of a coin, seeded by `seed`; the latest name changes too.
    some,
  };
  Rule rule = Rule::all;
  std::size_t piece = 0;
  std::uint64_t seed = 0;
  bool names = true;
  /// Pieces are parts of writes within one sector of this size; 0: whole writes.
  std::size_t sectorBytes = 0;

  [[nodiscard]] std::string text() const;
};

/// One disk at one moment of its record: what is synced, and what is still in the air. The model is that of a
/// journaling file system: data of a file is safe from its last sync on; unsynced writes and truncates survive or not,
/// each on its own, torn at sectors, unless a sync failed and forgot them (`MemoryDisk::forgets`); names are created
/// and deleted in order, and the sync of a file makes its name safe with all name changes before it.
class DiskHistory {
public:
  explicit DiskHistory(const DiskFiles& start = {});

  void apply(const DiskOperation& operation);

  /// Pieces in the air, by the size of a sector.
  [[nodiscard]] std::size_t pieces(std::size_t sectorBytes) const;
  /// The ways in which a power cut may end now: all, none, each piece alone lost and alone kept, by whole writes and by
  /// sectors of 512 and 4,096 bytes, and `coins` seeded subsets of each.
  [[nodiscard]] std::vector<Survival> survivals(std::size_t coins, std::uint64_t seed) const;
  [[nodiscard]] DiskFiles image(const Survival& survival) const;

private:
  /// Part of one unsynced change.
  struct Change {
    bool truncates = false;
    std::size_t offset = 0;
    std::string bytes;
  };
  struct Inode {
    std::string synced;
    std::vector<Change> air;
    // Name changes that its sync makes safe: those up to its creation.
    std::size_t created = 0;
  };
  struct NameChange {
    std::string path;
    // -1: deleted.
    std::ptrdiff_t inode = -1;
  };

  [[nodiscard]] static std::vector<Change> split(const Change& change, std::size_t sectorBytes);
  static void perform(std::string& bytes, const Change& change);
  void settleNames(std::size_t count);
  /// What a sync that failed and forgot leaves of a file's changes.
  static void forget(Inode& inode, std::uint64_t seed);

  std::vector<Inode> inodes_;
  // As SQLite sees it now.
  std::map<std::string, std::size_t> names_;
  std::map<std::string, std::size_t> syncedNames_;
  std::vector<NameChange> nameAir_;
  // Name changes that have become safe so far.
  std::size_t namesSettled_ = 0;
};

}  // namespace ackbox::testing
