// Goal: a power cut at any moment breaks no promise (P1, P3, P4, P5, P6).
// Method: two agents work on recorded disks in memory. The record gives the crash images: at every moment, synced data
// with the unsynced writes dropped, kept and torn, in all single ways and in many seeded ones. Both agents are opened
// on an image, verified, and left to finish; then the effects, Bob's and those that Alice fetches from a mailbox at
// Bob, are compared with her completed enqueues and publishes. Some images are cut again during recovery.
// ACKBOX_TEST_SCALE multiplies the images and ACKBOX_TEST_SEED sets the first seed; the same machinery must notice a
// missing fsync, or it proves nothing.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "power_cut.hpp"
#include "store/writer.hpp"
#include "support/crash_images.hpp"
#include "support/scale.hpp"
#include "two_agents.hpp"

namespace ackbox::testing::power_cut_test {
namespace {

constexpr std::uint64_t kImagesPerRun = 40;

CutReport runAndCut(const RunOptions& options, std::uint64_t budget) {
  const TempDir folder;
  const RecordedRun run = recordRun(folder, options);
  // As in production: the stores batch their logs.
  const DiskRecord::LogWrites log = run.record->logWrites();
  CHECK(log.batched > 0);
  CHECK(log.single == 0);
  CutReport report = cutPower(folder, options, run, budget);
  MESSAGE("seed " << options.seed << ": " << run.record->length() << " disk operations, " << run.said.size()
                  << " messages, " << report.possible << " crash images, " << report.opened << " opened ("
                  << report.secondCuts << " second cuts), " << report.broken << " broken");
  return report;
}

void cutSeeds(bool started) {
  const std::uint64_t first = chosenSeed(1);
  const store::Writer::Totals before = store::Writer::totals();
  MESSAGE("first seed " << first << "; again with ACKBOX_TEST_SEED=" << first);
  std::uint64_t opened = 0;
  for (std::uint64_t seed = first; seed < first + scaled(isLongForm() ? 3 : 2); ++seed) {
    RunOptions options;
    options.seed = seed;
    options.started = started;
    const CutReport report = runAndCut(options, kImagesPerRun);
    opened += report.opened;
    for (const std::string& violation : report.violations) {
      FAIL_CHECK("seed " << seed << ": " << violation);
    }
  }
  const std::uint64_t inCallers = store::Writer::totals().inCallers - before.inCallers;
  MESSAGE("power cut: " << opened << " crash images opened, " << inCallers << " commits in their callers' calls");
  CHECK(opened > 0);
  CHECK(inCallers > opened);
}

void failSyncs() {
  // Of every two runs, one forgets all pages and the other some of them; if a kind has one run, of every two kinds.
  constexpr std::uint64_t kFewRuns = 2;
  constexpr std::uint64_t kRuns = 3;
  constexpr std::uint64_t kImagesPerFailure = 3;
  std::uint64_t opened = 0;
  std::uint64_t broken = 0;
  std::uint64_t failures = 0;
  // By single passes and by runs, with the batched log and with SQLite's own, at the sender and at the receiver.
  for (std::uint64_t kind = 0; kind < 8; ++kind) {
    RunOptions options;
    options.seed = chosenSeed(1) + kind;
    options.started = (kind & 1U) != 0;
    options.batchedLog = (kind & 2U) == 0;
    const Side side = (kind & 4U) == 0 ? alice : bob;
    std::uint64_t syncs = 0;
    {
      const TempDir folder;
      syncs = recordRun(folder, options).syncs[side];
    }
    const std::uint64_t runs = std::min(syncs, scaled(isLongForm() ? kRuns : kFewRuns));
    for (std::uint64_t run = 0; run < runs; ++run) {
      const TempDir folder;
      const std::uint64_t only = runs == 1 ? kind : 0;
      options.failingSyncs[side] = 1 + run * syncs / runs + only * syncs / 8;
      options.forgetSeed = (run + only) % 2 == 0 ? 0 : run + only;
      const RecordedRun recorded = recordRun(folder, options);
      failures += recorded.failures;
      const CutReport report = cutPower(folder, options, recorded, kImagesPerFailure);
      opened += report.opened;
      broken += report.broken;
      for (const std::string& violation : report.violations) {
        FAIL_CHECK("seed " << options.seed << ", kind " << kind << ", sync " << options.failingSyncs[side] << " of "
                           << syncs << ": " << violation);
      }
    }
  }
  MESSAGE("forgetting syncs: " << opened << " crash images opened, " << broken << " broken, " << failures
                               << " errors reported");
  CHECK(failures > 0);
}

}  // namespace

TEST_CASE("P1 P3 P4 P5 P6: no crash image loses, repeats or reorders anything") {
  cutSeeds(false);
}

TEST_CASE("P1 P3 P4 P5 P6: no crash image does so where the managers' own runs deliver") {
  cutSeeds(true);
}

TEST_CASE("P1 P3 P4 P5 P6: no crash image does so after a sync that failed and forgot what it should have written") {
  failSyncs();
}

TEST_CASE("the logs of the crash images are written as an installed library writes them") {
  for (const bool started : {false, true}) {
    const TempDir folder;
    RunOptions options;
    options.started = started;
    const RecordedRun run = recordRun(folder, options);
    // SQLite writes a page and its header separately; a log that is written commit by commit has them in one piece.
    constexpr std::size_t kPageBytes = 4096;
    std::size_t ofCommits = 0;
    std::size_t ofPages = 0;
    for (const DiskOperation& operation : run.record->operations()) {
      if (operation.kind == DiskCall::write && operation.path.ends_with("-wal")) {
        ofCommits += operation.bytes.size() > kPageBytes ? 1U : 0U;
        ofPages += operation.bytes.size() == kPageBytes ? 1U : 0U;
      }
    }
    MESSAGE(ofCommits << " writes of more than a page, " << ofPages << " of one page");
    CHECK(ofCommits > run.said.size());
  }
}

// Found by the harness: after the cut the message was sent again under its old number, and acknowledged as
// a duplicate, because Bob had gone past that number.
TEST_CASE("P3: a message given up stays so after a power cut, even when its session has gone on") {
  const TempDir folder;
  const auto record = std::make_shared<DiskRecord>();
  std::vector<Said> said;
  {
    TwoAgents agents(folder, Durability::powerCut, {}, record);
    // No checkpoint may sync a settle that was left unsynced.
    agents.checkpointPages = 4000;
    agents.open(bob);
    agents.open(alice);
    for (const char* type : {"reject", "order"}) {
      Frame frame;
      frame.peer = kBob;
      frame.id = type;
      frame.session = "s";
      frame.type = type;
      frame.data = "1";
      REQUIRE(agents.manager(alice).enqueue(frame).isNew());
      said.push_back({.peer = kBob,
                      .messageId = frame.id,
                      .session = frame.session,
                      .data = frame.data,
                      .rejected = frame.type == "reject",
                      .calledAt = 0,
                      .returnedAt = record->length()});
    }
    while (agents.manager(alice).getStats().acked == 0) {
      agents.manager(alice).drainOnce();
    }
  }
  Survival synced;
  synced.rule = Survival::Rule::none;
  std::array<DiskHistory, 2> histories;
  for (std::size_t moment = 0; moment < record->length(); ++moment) {
    const DiskOperation& operation = record->operations()[moment];
    histories[operation.disk].apply(operation);
    if (operation.disk == bob && operation.kind == DiskCall::sync) {
      const auto violations =
          judgeImages(folder, RunOptions(), said, moment, {histories[alice].image(synced), histories[bob].image({})});
      CHECK_MESSAGE(violations.empty(), violations.front());
    }
  }
}

TEST_CASE("P1 P3: what is published is kept for each subscriber when power fails at the moment of the return") {
  const TempDir folder;
  const auto record = std::make_shared<DiskRecord>();
  std::vector<Said> said;
  std::vector<std::size_t> returns;
  {
    TwoAgents agents(folder, Durability::powerCut, {}, record);
    agents.open(bob);
    agents.open(alice);
    agents.subscribe();
    for (const char* const data : {"1", "2", "3"}) {
      const std::size_t calledAt = record->length();
      const PublishReceipt receipt = agents.manager(alice).publish({.session = "s", .type = "order", .data = data});
      REQUIRE(receipt.messages.size() == 2);
      for (const PublishedMessage& message : receipt.messages) {
        said.push_back({.peer = message.peer,
                        .messageId = message.messageId,
                        .session = "s",
                        .data = data,
                        .publication = returns.size() + 1,
                        .calledAt = calledAt,
                        .returnedAt = record->length()});
      }
      returns.push_back(record->length());
    }
  }
  Survival synced;
  synced.rule = Survival::Rule::none;
  std::array<DiskHistory, 2> histories;
  for (std::size_t moment = 1; moment <= returns.back(); ++moment) {
    const DiskOperation& operation = record->operations()[moment - 1];
    histories[operation.disk].apply(operation);
    if (std::ranges::find(returns, moment) != returns.end()) {
      const auto violations =
          judgeImages(folder, RunOptions(), said, moment, {histories[alice].image(synced), histories[bob].image({})});
      CHECK_MESSAGE(violations.empty(), violations.front());
    }
  }
}

TEST_CASE("P1: the power cut harness notices enqueues that return before they are synced") {
  RunOptions options;
  options.durability = Durability::processCrash;
  options.endsAtBroken = true;
  CHECK(runAndCut(options, 40).broken > 0);
}

TEST_CASE("P1: the power cut harness notices syncs that do nothing") {
  RunOptions options;
  options.ignoresSyncs = true;
  options.endsAtBroken = true;
  CHECK(runAndCut(options, 40).broken > 0);
}

}  // namespace ackbox::testing::power_cut_test
