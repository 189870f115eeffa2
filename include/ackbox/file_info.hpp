#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "ackbox/clock.hpp"

namespace ackbox {

/// What an outbox is as a file: what `OutboxReader::fileInfo` answers.
struct FileInfo {
  /// The version of the tables, and the release of ackbox that made them.
  std::int64_t schemaVersion = 0;
  std::string writtenBy = {};
  /// The store's identity on the wire, and how often it was opened to be written.
  std::string origin = {};
  std::uint64_t epoch = 0;
  /// The newest instant in the file at which something happened; nothing: nothing has. Ahead of the clock, one of the
  /// two is wrong.
  std::optional<WallTime> newestAt = {};
  /// The file whose kernel locks show which processes live.
  std::filesystem::path ownersFile = {};

  /// The SQLite that runs in this process.
  std::string sqliteVersion = {};
  /// As in `VerifyReport`.
  bool hasCheckpointDefect = false;
  /// As in `Stats`.
  std::string logNotBatched = {};
};

/// What `OutboxOperator::makeNewStore` did.
struct NewStoreReport {
  /// The identity from before, and the new one.
  std::string originBefore = {};
  std::string origin = {};
  /// Messages that are pending, and are sent by the new store.
  std::uint64_t pending = 0;
  /// Dead letters that were kept.
  std::uint64_t failed = 0;
  /// Messages that were left out: deferred by their peers, and acknowledged ones that were retained.
  std::uint64_t sentLeftOut = 0;
  std::uint64_t ackedLeftOut = 0;
};

}  // namespace ackbox
