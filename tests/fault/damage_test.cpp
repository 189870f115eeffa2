// Goal: bytes that changed at rest are told of, or do no harm: nothing damaged is delivered or handed over as good, and
// no process crashes or hangs (P3, P11).
// Method: an agent's file, its log, its shared memory and its sidecar are damaged on a disk in memory, each time at a
// place that a seed draws: bits flipped, sectors zeroed and garbled, pages swapped, misplaced and left behind, files
// cut; under an agent that is stopped, and under one that runs. Then the agent opens, delivers and handles what is
// there, and verifies; each thing that comes out is held against what was put in. ACKBOX_TEST_SCALE multiplies the
// damages and ACKBOX_TEST_SEED sets the first seed. A table says how they ended. Two ends nothing can tell: SQLite
// takes a log to end at its first frame that is not whole, and a page that is older was once right.

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <fstream>
#include <functional>
#include <iomanip>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "damage.hpp"
#include "damage_trial.hpp"
#include "support/scale.hpp"

namespace ackbox::testing::damage_test {
namespace {

enum class End : std::uint8_t {
  /// Everything came out as if nothing had happened.
  harmless,
  told,
  /// Nothing tells, and something is missing: the file is as it was at an earlier moment.
  older,
  /// There was nothing to damage.
  none,
};
constexpr std::array<const char*, 3> kEnds = {"harmless", "told", "older"};

/// What is damaged, and when.
enum class Target : std::uint8_t { stoppedFile, stoppedLog, runningFile, runningLog, runningShm, sidecar };
constexpr std::array<const char*, 6> kTargets = {"file, stopped", "log, stopped",           "file, running",
                                                 "log, running",  "shared memory, running", "sidecar"};

constexpr const char* kLog = "-wal";
constexpr const char* kShm = "-shm";
constexpr const char* kSidecar = "-ackbox-owners";

/// An agent's files at the end of its work and at moments before.
struct Base {
  std::vector<DiskFiles> moments;
  /// Once it was closed, so that all is in the file.
  DiskFiles closed;
  DamageLedger ledger;
};

Base prepare(const TempDir& folder, std::uint64_t seed) {
  MemoryDisk disk;
  Base base;
  DamageTrial trial(folder, disk, {}, seed);
  trial.prepare([&] { base.moments.push_back(disk.files()); });
  base.moments.push_back(disk.files());
  trial.close();
  base.closed = disk.files();
  base.ledger = trial.ledger();
  REQUIRE(trial.violations().empty());
  REQUIRE(trial.told().empty());
  return base;
}

class Damages {
public:
  explicit Damages(std::uint64_t seed) : base_(prepare(folder_, seed)) {}

  struct Verdict {
    End end = End::none;
    std::string what;
    std::set<std::string> violations;
    std::vector<std::string> told;
    std::vector<std::string> missing;
  };

  /// Each place of the file where `text` stands, damaged alone.
  std::vector<Verdict> inflictEach(std::string_view text) {
    std::vector<Verdict> verdicts;
    const std::string path = folder_.file(DamageTrial::kFile).string();
    const std::string& whole = base_.closed[path];
    for (std::size_t at = whole.find(text); at != std::string::npos; at = whole.find(text, at + 1)) {
      DiskFiles files = base_.closed;
      files[path][at + text.size() - 1] ^= 1;
      MemoryDisk disk(files);
      DamageTrial trial(folder_, disk, base_.ledger, 1);
      verdicts.emplace_back().what = "byte " + std::to_string(at + text.size() - 1);
      finish(trial, verdicts.back());
    }
    return verdicts;
  }

  Verdict spare() {
    MemoryDisk disk(base_.closed);
    DamageTrial trial(folder_, disk, base_.ledger, 1);
    Verdict verdict;
    verdict.what = "nothing";
    finish(trial, verdict);
    return verdict;
  }

  Verdict inflict(Target target, DamageKind kind, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const bool isStopped = target == Target::stoppedFile || target == Target::stoppedLog;
    DiskFiles files = target == Target::stoppedFile ? base_.closed : base_.moments.back();
    const std::string file = folder_.file(DamageTrial::kFile).string();
    const std::string path = file + (target == Target::stoppedLog || target == Target::runningLog ? kLog
                                     : target == Target::runningShm                               ? kShm
                                                                                                  : "");
    const std::string earlier = base_.moments[random() % base_.moments.size()][path];
    Verdict verdict;
    const auto damage = [&](std::string& bytes) {
      verdict.what = ackbox::testing::inflict(kind, bytes, earlier, random);
    };
    if (isStopped) {
      damage(files[path]);
    }
    MemoryDisk disk(files);
    DamageTrial trial(folder_, disk, base_.ledger, seed);
    trial.open();
    if (target == Target::sidecar) {
      damageSidecar(file + kSidecar, damage, random);
    } else if (!isStopped) {
      disk.alter(path, damage);
    }
    finish(trial, verdict);
    return verdict;
  }

private:
  static void damageSidecar(const std::string& path, const std::function<void(std::string&)>& damage,
                            std::mt19937_64& random) {
    std::string bytes(64, static_cast<char>(random()));
    damage(bytes);
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }

  static void finish(DamageTrial& trial, Verdict& verdict) {
    if (verdict.what.empty()) {
      return;
    }
    if (trial.open()) {
      trial.verify();
      trial.work();
      trial.close();
    }
    if (trial.open()) {
      trial.verify();
      trial.work();
      verdict.missing = trial.missing();
    }
    verdict.violations = trial.violations();
    verdict.told = trial.told();
    verdict.end = !verdict.told.empty() ? End::told : verdict.missing.empty() ? End::harmless : End::older;
  }

  const TempDir folder_;
  Base base_;
};

using Row = std::array<std::uint64_t, kEnds.size()>;

std::string tableOf(const std::map<std::pair<Target, DamageKind>, Row>& rows) {
  std::ostringstream out;
  out << std::left << std::setw(24) << "" << std::setw(22) << "";
  for (const char* end : kEnds) {
    out << std::right << std::setw(10) << end;
  }
  for (const auto& [key, row] : rows) {
    out << '\n'
        << std::left << std::setw(24) << kTargets.at(static_cast<std::size_t>(key.first)) << std::setw(22)
        << toString(key.second);
    for (const std::uint64_t count : row) {
      out << std::right << std::setw(10) << count;
    }
  }
  return out.str();
}

/// Damages with data of this seed; as many follow before data is made anew.
constexpr std::uint64_t kPerBase = 100;

}  // namespace

TEST_CASE("P3: where nothing is damaged, nothing tells of damage, and all is delivered") {
  const Damages::Verdict verdict = Damages(7).spare();
  CHECK(verdict.end == End::harmless);
  CHECK(verdict.violations.empty());
  for (const std::string& told : verdict.told) {
    FAIL_CHECK(told);
  }
}

TEST_CASE("P4: messages of a session whose name or place changed at rest are not sent in another one's name") {
  const std::vector<Damages::Verdict> verdicts = Damages(7).inflictEach(DamageTrial::kSessionOne);
  // In its table and in the index of names.
  CHECK(verdicts.size() >= 2);
  for (const Damages::Verdict& verdict : verdicts) {
    CAPTURE(verdict.what);
    for (const std::string& violation : verdict.violations) {
      FAIL_CHECK(violation);
    }
    CHECK(verdict.end == End::told);
  }
}

TEST_CASE("P3 P11: what is damaged at rest is told or does no harm, and is never delivered as good") {
  const std::uint64_t first = chosenSeed(1);
  const std::uint64_t count = scaled(200);
  MESSAGE("first seed " << first << ", damages " << count);
  std::map<std::pair<Target, DamageKind>, Row> rows;
  std::optional<Damages> damages;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    if (!damages || (seed - first) % kPerBase == 0) {
      damages.emplace(seed);
    }
    const auto kind = static_cast<DamageKind>(seed % kDamageKinds);
    const auto target = static_cast<Target>(seed / kDamageKinds % kTargets.size());
    INFO("seed " << seed << ": " << std::string(kTargets.at(static_cast<std::size_t>(target))) << ", "
                 << std::string(toString(kind)));
    const Damages::Verdict verdict = damages->inflict(target, kind, seed);
    INFO(verdict.what);
    for (const std::string& violation : verdict.violations) {
      FAIL_CHECK(violation);
    }
    // A log ends, for SQLite, where a frame of it is not whole: what was committed behind that was never there.
    const bool isLog = target == Target::stoppedLog || target == Target::runningLog;
    // An empty file is, for SQLite, a new one.
    const bool isEmpty = verdict.what == "at 0";
    if (verdict.end == End::older && !isLog && !isEmpty && kind != DamageKind::olderPage) {
      FAIL_CHECK(verdict.missing.front() << " is gone, and nothing tells");
    }
    if (verdict.end != End::none) {
      ++rows[{target, kind}].at(static_cast<std::size_t>(verdict.end));
    }
  }
  MESSAGE("damages by what was damaged, how, and how it ended:\n" << tableOf(rows));
}

}  // namespace ackbox::testing::damage_test
