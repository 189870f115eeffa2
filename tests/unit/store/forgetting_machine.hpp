#pragma once

#include <doctest/doctest.h>

#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "ackbox/diagnosis.hpp"
#include "ackbox/error.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_reader.hpp"
#include "ackbox/pull.hpp"
#include "store_world.hpp"
#include "support/crash_images.hpp"
#include "support/memory_disk.hpp"

namespace ackbox::testing {

/// The same disk in another folder.
inline DiskFiles moved(const DiskFiles& files, const std::string& from, const std::string& to) {
  DiskFiles result;
  for (const auto& [path, bytes] : files) {
    result.emplace(to + path.substr(from.size()), bytes);
  }
  return result;
}

/// One machine: its disk, what of it is safe, and the messages whose enqueue has returned.
struct ForgettingMachine {
  ForgettingMachine() : ForgettingMachine({}, {}) {}
  /// The same after all processes died, the machine did not.
  explicit ForgettingMachine(const ForgettingMachine& killed)
      : ForgettingMachine(killed.disk.files(), killed.image(), killed.file()) {
    acknowledged = killed.acknowledged;
    said = killed.said;
  }
  ForgettingMachine(const DiskFiles& inMemory, const DiskFiles& onDisk, const std::string& from = {})
      : safe(moved(onDisk, from, file())), disk(moved(inMemory, from, file()), record) {
    disk.forgets = true;
    disk.onCall = [this](DiskCall call, const std::string& path) {
      if (call != DiskCall::sync || (!failingFile.empty() && !path.ends_with(failingFile))) {
        return SQLITE_OK;
      }
      ++syncs;
      return failing.contains(syncs) || failsAll ? SQLITE_IOERR_FSYNC : SQLITE_OK;
    };
  }

  OutboxOptions options() const {
    OutboxOptions made;
    made.vfs = disk.name();
    made.clock = clock;
    made.random = seededRandom(7);
    made.checkpointPages = checkpointPages;
    made.log = [kept = reports](const LogRecord& one) {
      if (one.event == "unwell" || one.event == "well-again") {
        kept->emplace_back(one.text);
      }
    };
    return made;
  }
  std::string file() const { return folder.file("agent.db").string(); }
  /// Until the next attempt to mend the log.
  void rest() const { clock->advance(std::chrono::milliseconds(100)); }
  std::unique_ptr<OutboxManager> open() const {
    return std::make_unique<OutboxManager>(OutboxManager::open(file(), options()));
  }

  /// Whether it was acknowledged.
  bool enqueue(OutboxManager& manager) {
    const std::string id = "m" + std::to_string(++said);
    try {
      static_cast<void>(
          manager.enqueue(frameOf("s" + std::to_string(said % 3), '"' + std::string(900, 'x') + '"', id)));
    } catch (const Error& error) {
      CHECK(error.code() == Errc::ioError);
      return false;
    }
    acknowledged.insert(id);
    return true;
  }

  /// Claims and settles, of which none is synced: they make holes.
  void settleOne(OutboxManager& manager) {
    PullConsumer consumer(manager);
    for (const Claim& claim : consumer.claim(1)) {
      static_cast<void>(consumer.settle(claim, Outcome::ack));
      acknowledged.erase(claim.frame.messageId);
    }
    manager.stop();
  }

  /// What a power cut leaves now.
  DiskFiles image() const {
    DiskHistory history(safe);
    for (const DiskOperation& operation : record->operations()) {
      history.apply(operation);
    }
    return history.image({Survival::Rule::none});
  }

  /// How many acknowledged messages a power cut would lose now.
  std::size_t lost() const {
    const TempDir elsewhere;
    const std::string there = elsewhere.file("agent.db").string();
    const MemoryDisk rest(moved(image(), file(), there));
    OutboxOptions made = options();
    made.vfs = rest.name();
    const OutboxManager manager = OutboxManager::open(there, made);
    std::size_t count = 0;
    CHECK(OutboxReader(manager).verify().clean());
    for (const std::string& id : acknowledged) {
      count += manager.find(id).has_value() ? 0U : 1U;
    }
    return count;
  }

  TempDir folder;
  DiskFiles safe;
  std::shared_ptr<DiskRecord> record = std::make_shared<DiskRecord>();
  MemoryDisk disk;
  std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>();
  std::uint32_t checkpointPages = 4'000;
  std::size_t said = 0;
  std::set<std::string> acknowledged;
  // What the log has of the process's health.
  std::shared_ptr<std::vector<std::string>> reports = std::make_shared<std::vector<std::string>>();

  // The syncs that fail, of the file whose name ends so.
  std::string failingFile = {};
  std::size_t syncs = 0;
  std::set<std::size_t> failing;
  bool failsAll = false;
};

}  // namespace ackbox::testing
