// Goal: no failure below the library, wherever it occurs, costs an acknowledged message or a process: each call reports
// a clear error, and work continues after the fault (P1, P3, P4, P5).
// Method: an agent works on a disk in memory. The n-th call of a kind fails once, or from then on, for n = 1, 2, …
// until the work completes without meeting the fault; then the fault ends, and everything accepted must arrive. After a
// sync that fails and forgets its data, the power is also cut after some of the later steps. The short form takes some
// of the n, evenly spread; with ACKBOX_TEST_SCALE=100 every n.

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "fault_trial.hpp"
#include "store/writer.hpp"
#include "support/crash_images.hpp"
#include "support/scale.hpp"

namespace ackbox::testing::fault_test {
namespace {

// The number of trials of each kind, in the short form.
constexpr std::uint64_t kTrials = 3;

struct Fault {
  std::string name;
  DiskCall call;
  int code;
  /// The fault lasts from the n-th call on, until it is ended.
  bool lasts;
  std::set<Errc> mayReport;
  /// The data that is read differs from the data written, and SQLite cannot know: only the process and the reports are
  /// checked.
  bool damages = false;
  /// See `MemoryDisk::forgets`.
  bool forgets = false;
};

std::vector<Fault> faults() {
  std::vector<Fault> all;
  for (const bool lasts : {false, true}) {
    all.insert(all.end(),
               {{"write", DiskCall::write, SQLITE_IOERR_WRITE, lasts, {Errc::ioError}},
                {"write: disk full", DiskCall::write, SQLITE_FULL, lasts, {Errc::diskFull}},
                {"sync", DiskCall::sync, SQLITE_IOERR_FSYNC, lasts, {Errc::ioError}},
                {"sync: forgotten", DiskCall::sync, SQLITE_IOERR_FSYNC, lasts, {Errc::ioError}, false, true},
                {"open", DiskCall::open, SQLITE_CANTOPEN, lasts, {Errc::cannotOpen}},
                {"lock", DiskCall::lock, SQLITE_IOERR_LOCK, lasts, {Errc::ioError}},
                {"lock: busy", DiskCall::lock, SQLITE_BUSY, lasts, {Errc::databaseBusy}},
                {"shared memory", DiskCall::shmMap, SQLITE_IOERR_SHMMAP, lasts, {Errc::ioError}},
                {"shared memory: disk full", DiskCall::shmMap, SQLITE_IOERR_SHMSIZE, lasts, {Errc::diskFull}},
                {"shared memory's lock", DiskCall::shmLock, SQLITE_IOERR_SHMLOCK, lasts, {Errc::ioError}},
                {"shared memory's lock: busy", DiskCall::shmLock, SQLITE_BUSY, lasts, {Errc::databaseBusy}},
                {"truncate", DiskCall::truncate, SQLITE_IOERR_TRUNCATE, lasts, {Errc::ioError}},
                {"read", DiskCall::read, SQLITE_IOERR_READ, lasts, {Errc::ioError}},
                {"file size", DiskCall::fileSize, SQLITE_IOERR_FSTAT, lasts, {Errc::ioError}},
                {"delete", DiskCall::remove, SQLITE_IOERR_DELETE, lasts, {Errc::ioError}},
                {"access", DiskCall::access, SQLITE_IOERR_ACCESS, lasts, {Errc::ioError, Errc::cannotOpen}}});
  }
  // SQLite takes missing bytes for zeros. Kernels read up to the end of the file, so this is a truncated file.
  all.push_back({"read: too short",
                 DiskCall::read,
                 SQLITE_IOERR_SHORT_READ,
                 false,
                 {Errc::ioError, Errc::databaseCorrupt, Errc::notADatabase, Errc::databaseError, Errc::schemaTooOld},
                 true});
  return all;
}

using Work = void (FaultTrial::*)();

struct Tried {
  std::uint64_t calls = 0;
  std::uint64_t trials = 0;
  std::uint64_t failures = 0;
  /// Power cuts.
  std::uint64_t cuts = 0;
};

/// Cuts the power after the first, the second, the fourth, the eighth … step that follows a failure.
class PowerCuts {
public:
  PowerCuts(FaultTrial& trial, const DiskRecord& record) : trial_(trial), record_(record) {}

  void stepEnded() {
    if (!std::has_single_bit(++steps_)) {
      return;
    }
    for (; applied_ < record_.length(); ++applied_) {
      history_.apply(record_.operations()[applied_]);
    }
    trial_.judge(history_.image({Survival::Rule::none}));
    ++cuts_;
  }
  [[nodiscard]] std::uint64_t cuts() const noexcept { return cuts_; }

private:
  FaultTrial& trial_;
  const DiskRecord& record_;
  DiskHistory history_;
  std::size_t applied_ = 0;
  std::uint64_t steps_ = 0;
  std::uint64_t cuts_ = 0;
};

/// One trial in which the `nth` call fails; 0: no call fails. Returns the number of calls of the kind.
std::uint64_t tryOnce(const Fault& fault, std::uint64_t nth, Work work, Tried& tried) {
  const TempDir folder;
  const auto record = nth == 0 || fault.forgets ? std::make_shared<DiskRecord>() : nullptr;
  MemoryDisk disk({}, record);
  disk.forgets = fault.forgets;
  std::uint64_t calls = 0;
  bool armed = true;
  disk.onCall = [&](DiskCall call, const std::string&) {
    if (!armed || call != fault.call) {
      return SQLITE_OK;
    }
    ++calls;
    return nth != 0 && (calls == nth || (fault.lasts && calls > nth)) ? fault.code : SQLITE_OK;
  };
  FaultTrial trial(folder, disk, fault.mayReport);
  if (fault.forgets) {
    // A checkpoint syncs everything: some commits must stay unsynced in the log, to be forgotten.
    trial.checkpointPages = 60;
  }
  std::optional<PowerCuts> cuts;
  if (nth != 0 && fault.forgets) {
    cuts.emplace(trial, *record);
    trial.afterStep = [&] {
      if (calls >= nth) {
        cuts->stepEnded();
      }
    };
  }
  (trial.*work)();
  trial.afterStep = {};
  tried.cuts += cuts ? cuts->cuts() : 0;
  armed = false;
  if (nth == 0) {
    // As in production: the store batches its log. Only the test's own readers may write one by one.
    const DiskRecord::LogWrites log = record->logWrites();
    CHECK(log.batched > 0);
    CHECK(log.single == 0);
  }
  if (!fault.damages) {
    trial.recover();
  }
  ++tried.trials;
  tried.failures += trial.failures();
  for (const std::string& violation : trial.violations()) {
    FAIL_CHECK(fault.name << std::string(fault.lasts ? " from call " : " at call ") << nth << ": " << violation);
  }
  return calls;
}

void tryAll(Work work) {
  Tried all;
  const store::Writer::Totals before = store::Writer::totals();
  for (const Fault& fault : faults()) {
    Tried tried;
    tried.calls = tryOnce(fault, 0, work, tried);
    const std::uint64_t step = std::max<std::uint64_t>(1, tried.calls / std::max(kTrials, scaled(kTrials)));
    for (std::uint64_t nth = 1; nth <= tried.calls; nth += step) {
      tryOnce(fault, nth, work, tried);
    }
    MESSAGE(fault.name << std::string(fault.lasts ? ", lasting: " : ", once: ") << tried.calls << " calls, "
                       << tried.trials << " trials, " << tried.failures << " errors reported, " << tried.cuts
                       << " power cuts");
    CHECK((tried.cuts > tried.trials) == fault.forgets);
    all.calls += tried.calls;
    all.trials += tried.trials;
    all.failures += tried.failures;
  }
  MESSAGE("faults: " << all.trials << " trials over " << all.calls << " calls, " << all.failures << " errors reported");
  CHECK(all.failures > 0);
  const std::uint64_t inCallers = store::Writer::totals().inCallers - before.inCallers;
  MESSAGE("faults: " << inCallers << " commits in their callers' calls");
  CHECK(inCallers > all.trials);
}

}  // namespace

TEST_CASE("P1 P3 P4 P5: whatever call below fails, single passes lose nothing and recover") {
  tryAll(&FaultTrial::work);
}

TEST_CASE("P1 P3 P4: whatever call below fails, a run goes on when the fault goes") {
  tryAll(&FaultTrial::workWithRun);
}

TEST_CASE("P1 P3 P4: whatever call below fails, a run of the manager's own goes on when the fault goes") {
  tryAll(&FaultTrial::workStarted);
}

}  // namespace ackbox::testing::fault_test
