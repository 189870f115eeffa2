// Goal: bytes that changed at rest are reported, or do no harm: no damaged data is delivered or handed over as good,
// and no process crashes or hangs (P3, P11).
// Method: an agent's file, its log, its shared memory and its sidecar are damaged on a disk in memory, each time at a
// place that a seed draws: bits flipped, sectors zeroed and garbled, pages swapped, misplaced and left behind, files
// cut; under a stopped agent and under a running one. Then the agent opens, delivers and handles the contents, and
// verifies; each result is compared with the original. ACKBOX_TEST_SCALE multiplies the damages and ACKBOX_TEST_SEED
// sets the first seed. A table shows the results. Two kinds cannot be detected: a log damaged at its end has no trace
// of the commits there, and an older page was once right.

#include <doctest/doctest.h>
#include <sqlite3.h>

#include <algorithm>
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

#include "ackbox/file_info.hpp"
#include "ackbox/log.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_reader.hpp"
#include "damage.hpp"
#include "damage_trial.hpp"
#include "support/scale.hpp"

namespace ackbox::testing::damage_test {
namespace {

enum class End : std::uint8_t {
  /// Everything came out as without the damage.
  harmless,
  told,
  /// Data is missing without a report: the file is as it was at an earlier moment.
  older,
  /// There was nothing to damage.
  none,
};
constexpr std::array<const char*, 3> kEnds = {"harmless", "told", "older"};

/// The damaged file, and the state of its agent.
enum class Target : std::uint8_t { stoppedFile, stoppedLog, runningFile, runningLog, runningShm, sidecar };
constexpr std::array<const char*, 6> kTargets = {"file, stopped", "log, stopped",           "file, running",
                                                 "log, running",  "shared memory, running", "sidecar"};

constexpr const char* kLog = "-wal";
constexpr const char* kShm = "-shm";
constexpr const char* kSidecar = "-ackbox-owners";

/// Whether the senders of waiting frames send them once more before they are handled, and afterwards.
enum class Again : std::uint8_t { no, yes };

/// An agent's files at the end of its work and at earlier moments.
struct Base {
  std::vector<DiskFiles> moments;
  /// The files after the agent was closed, so that all data is in the database file.
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

// For SQLite, a log ends at the first frame that is not whole. Later commits can be detected only if the end of one is
// left: the header of a frame with the log's salt and a number of pages.
bool hasCommitBehindDamage(const std::string& before, const std::string& after) {
  constexpr std::size_t kHeader = 32;
  constexpr std::size_t kFrame = 24 + 4096;
  constexpr std::size_t kSalt = 8;
  const auto place = std::mismatch(before.begin(), before.end(), after.begin(), after.end()).first;
  const auto damaged = static_cast<std::size_t>(place - before.begin());
  std::size_t at = kHeader;
  for (; at + kFrame <= damaged; at += kFrame) {
  }
  for (; at + kFrame <= after.size(); at += kFrame) {
    const bool isOurs = after.compare(at + 8, kSalt, before, 16, kSalt) == 0;
    if (isOurs && after.compare(at + 4, 4, std::string(4, '\0')) != 0) {
      return true;
    }
  }
  return false;
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
    std::set<std::string> untaken;
    /// A stopped agent's log has no whole end of a commit at or behind the damage.
    bool isTraceless = false;

    [[nodiscard]] bool says(std::string_view text) const {
      return std::any_of(told.begin(), told.end(),
                         [text](const std::string& one) { return one.find(text) != std::string::npos; });
    }
  };

  /// Runs on the file after these statements, which represent damage: they keep SQLite's own structure.
  Verdict alter(const std::string& sql, Again again = Again::no) {
    MemoryDisk disk(base_.closed);
    execute(disk, sql);
    DamageTrial trial(folder_, disk, base_.ledger, 1);
    Verdict verdict;
    verdict.what = sql;
    finish(trial, verdict, again);
    return verdict;
  }

  /// Runs on the log of a killed agent, with a bit of its first frame flipped.
  Verdict damageFirstFrame() { return run(withFirstFrameDamaged(), "the first frame"); }

  /// The report of `verify` on the log of these files.
  std::string logCutShort(const DiskFiles& files) {
    MemoryDisk disk(files);
    OutboxOptions options;
    options.vfs = disk.name();
    return OutboxReader::open(folder_.file(DamageTrial::kFile), options).verify().logCutShort;
  }
  /// The file's notes about its past, after an agent has opened and closed it.
  std::vector<FileNote> notesAfterOpening(const DiskFiles& files) {
    MemoryDisk disk(files);
    OutboxOptions options;
    options.vfs = disk.name();
    options.log = [](const LogRecord&) {};
    const std::filesystem::path file = folder_.file(DamageTrial::kFile);
    (void)OutboxManager::open(file, options);
    return OutboxReader::open(file, options).fileInfo().notes;
  }
  [[nodiscard]] DiskFiles killed() const { return base_.moments.back(); }
  [[nodiscard]] DiskFiles withFirstFrameDamaged() const {
    constexpr std::size_t kInFirstFrame = 100;
    DiskFiles files = killed();
    files[folder_.file(DamageTrial::kFile).string() + kLog].at(kInFirstFrame) ^= 1;
    return files;
  }

  Verdict empty() {
    DiskFiles files = base_.closed;
    files[folder_.file(DamageTrial::kFile).string()].clear();
    return run(files, "all of it");
  }

  [[nodiscard]] const DamageLedger& ledger() const noexcept { return base_.ledger; }

  /// Damages each place of the file that contains `text`, one at a time.
  std::vector<Verdict> inflictEach(std::string_view text, Again again = Again::no) {
    std::vector<Verdict> verdicts;
    const std::string path = folder_.file(DamageTrial::kFile).string();
    const std::string& whole = base_.closed[path];
    for (std::size_t at = whole.find(text); at != std::string::npos; at = whole.find(text, at + 1)) {
      DiskFiles files = base_.closed;
      files[path][at + text.size() - 1] ^= 1;
      MemoryDisk disk(files);
      DamageTrial trial(folder_, disk, base_.ledger, 1);
      verdicts.emplace_back().what = "byte " + std::to_string(at + text.size() - 1);
      finish(trial, verdicts.back(), again);
    }
    return verdicts;
  }

  Verdict spare() { return run(base_.closed, "nothing"); }

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
      const std::string before = files[path];
      damage(files[path]);
      verdict.isTraceless = target == Target::stoppedLog && !hasCommitBehindDamage(before, files[path]);
    }
    MemoryDisk disk(files);
    DamageTrial trial(folder_, disk, base_.ledger, seed);
    trial.open();
    if (target == Target::sidecar) {
      damageSidecar(file + kSidecar, damage, random);
    } else if (!isStopped) {
      disk.alter(path, damage);
    }
    finish(trial, verdict, seed / 60 % 2 == 1 ? Again::yes : Again::no);
    return verdict;
  }

private:
  Verdict run(const DiskFiles& files, const char* what) {
    MemoryDisk disk(files);
    DamageTrial trial(folder_, disk, base_.ledger, 1);
    Verdict verdict;
    verdict.what = what;
    finish(trial, verdict);
    return verdict;
  }

  void execute(MemoryDisk& disk, const std::string& sql) const {
    sqlite3* connection = nullptr;
    const std::string file = folder_.file(DamageTrial::kFile).string();
    REQUIRE(sqlite3_open_v2(file.c_str(), &connection, SQLITE_OPEN_READWRITE, disk.name().c_str()) == SQLITE_OK);
    CHECK(sqlite3_exec(connection, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
    CHECK(sqlite3_changes(connection) == 1);
    sqlite3_close(connection);
  }

  static void damageSidecar(const std::string& path, const std::function<void(std::string&)>& damage,
                            std::mt19937_64& random) {
    std::string bytes(64, static_cast<char>(random()));
    damage(bytes);
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }

  static void finish(DamageTrial& trial, Verdict& verdict, Again again = Again::no) {
    if (verdict.what.empty()) {
      return;
    }
    if (trial.open()) {
      trial.verify();
      if (again == Again::yes) {
        trial.hearAgain();
      }
      trial.work();
      trial.close();
    }
    if (trial.open()) {
      trial.verify();
      if (again == Again::yes) {
        trial.hearAgain();
      }
      trial.work();
      verdict.missing = trial.missing();
      verdict.untaken = trial.untaken();
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

/// The number of damages with the data of one seed; then new data is made.
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
  Damages damages(7);
  const std::vector<Damages::Verdict> verdicts = damages.inflictEach(DamageTrial::kSessionOne);
  // In its table and in the index of names.
  CHECK(verdicts.size() >= 2);
  for (const Damages::Verdict& verdict : verdicts) {
    CAPTURE(verdict.what);
    for (const std::string& violation : verdict.violations) {
      FAIL_CHECK(violation);
    }
    CHECK(verdict.end == End::told);
    // The session is halted as a whole, and all others go on.
    CHECK(verdict.says("session-damaged"));
    CHECK_FALSE(verdict.says("dead-letter"));
    CHECK(verdict.missing.empty());
    CHECK_FALSE(verdict.untaken.empty());
    for (const std::string& id : verdict.untaken) {
      CHECK(damages.ledger().sent.at(id).session == DamageTrial::kSessionOne);
    }
  }
}

TEST_CASE("P4: a message that is found in one session and read of another is sent in neither's name") {
  // Two paths to one row lead to different pages.
  const Damages::Verdict verdict = Damages(28'500).inflict(Target::stoppedFile, DamageKind::misplacedPage, 28'508);
  CHECK(verdict.end == End::told);
  for (const std::string& violation : verdict.violations) {
    FAIL_CHECK(violation);
  }
}

TEST_CASE("P12: a message whose row names a session that is missing, or another's, holds up nothing else") {
  Damages damages(7);
  CHECK(damages.spare().untaken.empty());
  const std::string other =
      "(SELECT id FROM ackbox_sessions WHERE peer_id<>(SELECT peer_id FROM ackbox_sessions WHERE "
      "id=session_id) LIMIT 1)";
  std::size_t passedOver = 0;
  for (const std::string& session : {std::string("session_id+4096"), other}) {
    for (std::size_t row = 0; row < 8; ++row) {
      const Damages::Verdict verdict = damages.alter(
          "UPDATE ackbox_outbox SET session_id=" + session +
          " WHERE id=(SELECT id FROM ackbox_outbox ORDER BY id LIMIT 1 OFFSET " + std::to_string(row) + ")");
      CAPTURE(verdict.what);
      for (const std::string& violation : verdict.violations) {
        FAIL_CHECK(violation);
      }
      CHECK(verdict.end == End::told);
      CHECK_FALSE(verdict.says("drain: "));
      CHECK_FALSE(verdict.says("retry: "));
      CHECK(verdict.says("verify: "));
      CHECK(verdict.untaken.size() <= 1);
      passedOver += verdict.says("session-damaged") ? 1U : 0U;
    }
  }
  CHECK(passedOver > 0);
}

TEST_CASE("P3 P11: a frame that is damaged while it waits, and is sent once more, is not acknowledged unhandled") {
  Damages damages(7);
  std::vector<Damages::Verdict> verdicts = damages.inflictEach("in-2", Again::yes);
  // In its row, in the index of names and in its data.
  CHECK(verdicts.size() >= 3);
  const std::string row = " WHERE id=(SELECT min(id)+2 FROM ackbox_inbox)";
  for (const char* change : {"data=data||' '", "type='order'", "checksum=checksum+1"}) {
    verdicts.push_back(damages.alter("UPDATE ackbox_inbox SET " + std::string(change) + row, Again::yes));
    CHECK(verdicts.back().says("frame-failed"));
  }
  // As when the file ends too early. SQL also changes the index, so the frame cannot be identified.
  verdicts.push_back(damages.alter(
      "UPDATE ackbox_inbox SET origin='',session='',sequence=0,frame_id='',source='',epoch=0,previous_sequence=0,"
      "type='',audience='',time_ms=NULL,expires_at_ms=NULL,traceparent=NULL,correlation_id=NULL,data='',"
      "data_content_type=NULL,checksum=0" +
      row));
  CHECK(verdicts.back().says("frame-failed"));
  for (const Damages::Verdict& verdict : verdicts) {
    CAPTURE(verdict.what);
    for (const std::string& violation : verdict.violations) {
      FAIL_CHECK(violation);
    }
  }
}

TEST_CASE("P13: a damaged log that has lost what was committed says so, at the opening and to verify") {
  Damages damages(7);
  const Damages::Verdict verdict = damages.damageFirstFrame();
  CHECK_FALSE(verdict.missing.empty());
  CHECK(verdict.says("log: log-cut-short"));
  CHECK_FALSE(damages.logCutShort(damages.withFirstFrameDamaged()).empty());
  CHECK(damages.logCutShort(damages.killed()).empty());
  const std::vector<FileNote> notes = damages.notesAfterOpening(damages.withFirstFrameDamaged());
  REQUIRE(notes.size() == 1);
  CHECK(notes[0].event == "log-cut-short");
  CHECK(notes[0].text.find("was not used") != std::string::npos);
  CHECK(damages.notesAfterOpening(damages.killed()).empty());
}

TEST_CASE("P13: a file that is empty although it was in use is not taken for a new one in silence") {
  Damages damages(7);
  const Damages::Verdict verdict = damages.empty();
  CHECK_FALSE(verdict.missing.empty());
  CHECK(verdict.says("log: file-was-empty"));
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
    if (verdict.end == End::older && !verdict.isTraceless && kind != DamageKind::olderPage) {
      FAIL_CHECK(verdict.missing.front() << " is gone, and nothing tells");
    }
    if (verdict.end != End::none) {
      ++rows[{target, kind}].at(static_cast<std::size_t>(verdict.end));
    }
  }
  MESSAGE("damages by what was damaged, how, and how it ended:\n" << tableOf(rows));
}

}  // namespace ackbox::testing::damage_test
