#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "support/memory_disk.hpp"

namespace ackbox::testing {

/// Which unsynced changes of a disk survive a power cut. Synced changes always survive.
struct Survival {
  enum class Rule : std::uint8_t {
    /// Every change: the state after a killed process.
    all,
    /// No change; with `names`, new files and deletions survive nevertheless.
    none,
    /// All but piece number `piece`.
    allBut,
    /// Only piece number `piece`.
    only,
    /// Each piece, and the latest name changes, by a coin that `seed` seeds.
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

/// One disk at one moment of its record: the synced data, and the unsynced changes "in the air". The model is a
/// journaling file system: a file's data is safe from its last sync on; each unsynced write or truncate survives or not
/// by itself, torn at sectors, unless a sync failed and forgot it (`MemoryDisk::forgets`); names are created and
/// deleted in order, and the sync of a file makes its name safe with all earlier name changes.
class DiskHistory {
public:
  explicit DiskHistory(const DiskFiles& start = {});

  void apply(const DiskOperation& operation);

  /// The number of pieces in the air, for a sector size.
  [[nodiscard]] std::size_t pieces(std::size_t sectorBytes) const;
  /// The possible results of a power cut now: all changes, no change, each piece alone lost and alone kept, by whole
  /// writes and by sectors of 512 and 4,096 bytes, and `coins` seeded subsets of each.
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
    // The number of name changes that its sync makes safe: those up to its creation.
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
  /// Applies a sync that failed and forgot a file's changes.
  static void forget(Inode& inode, std::uint64_t seed);

  std::vector<Inode> inodes_;
  // The names as SQLite sees them now.
  std::map<std::string, std::size_t> names_;
  std::map<std::string, std::size_t> syncedNames_;
  std::vector<NameChange> nameAir_;
  // The number of name changes that are safe so far.
  std::size_t namesSettled_ = 0;
};

}  // namespace ackbox::testing
