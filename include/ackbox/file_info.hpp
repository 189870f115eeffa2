#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ackbox/clock.hpp"

namespace ackbox {

/// An event in the file's past that an opening detected and an operator should know of; see `FileInfo::notes`.
struct FileNote {
  /// As in the log: `log-cut-short`, `file-was-empty` or `file-made-anew`.
  std::string event = {};
  /// When it was last found, and how often.
  WallTime at{};
  std::uint64_t times = 0;
  /// For people, with the remedy.
  std::string text = {};
};

/// The outbox as a file; the result of `OutboxReader::fileInfo`.
struct FileInfo {
  /// The version of the tables, and the release of ackbox that made them.
  std::int64_t schemaVersion = 0;
  std::string writtenBy = {};
  /// The store's identity on the wire, and how often it was opened for writing.
  std::string origin = {};
  std::uint64_t epoch = 0;
  /// The newest instant at which a message was enqueued or acknowledged, an inbound frame deferred, the file opened or
  /// a peer's state changed; empty if none of that has happened. If it is ahead of the clock, one of the two is wrong.
  std::optional<WallTime> newestAt = {};
  /// The file with the kernel locks that show which processes live.
  std::filesystem::path ownersFile = {};
  /// Events, found by openings, that may mean lost messages; oldest first, one for each kind. `OutboxOperator::repair`
  /// and `repairFile` drop them: call these once people have seen the notes.
  std::vector<FileNote> notes = {};

  /// The version of the PostgreSQL server that has the outbox; empty for a file.
  std::string serverVersion = {};
  /// Why a power cut at the server may lose what was acknowledged, with the remedy; empty: nothing is known against it.
  std::string notDurable = {};
  /// The version of the SQLite that runs in this process; empty for a database.
  std::string sqliteVersion = {};
  /// As in `VerifyReport`.
  bool hasCheckpointDefect = false;
  /// As in `Stats`.
  std::string logNotBatched = {};
};

/// What `OutboxOperator::makeNewStore`, or that of a database, did.
struct NewStoreReport {
  /// The old identity, and the new one.
  std::string originBefore = {};
  std::string origin = {};
  /// Pending messages, which the new store sends.
  std::uint64_t pending = 0;
  /// Dead letters that were kept.
  std::uint64_t failed = 0;
  /// Messages that were left out: deferred by their peers, and acknowledged ones that were retained.
  std::uint64_t sentLeftOut = 0;
  std::uint64_t ackedLeftOut = 0;
};

/// What `OutboxOperator::migrateFile` or `migrateDatabase` did, or would do.
struct MigrationReport {
  /// The version of the tables before, and that of this release.
  std::int64_t from = 0;
  std::int64_t to = 0;
  /// The release of ackbox that made the tables.
  std::string writtenBy = {};
  /// A sentence on each change of a version, in their order; none if there is nothing to do.
  std::vector<std::string> changes = {};
  /// The copy of the file as it was; empty if nothing was done, and of a database.
  std::filesystem::path backup = {};
  /// Of a database: processes that know this version of the tables, or a later one, may have it open meanwhile and
  /// afterwards; others are stopped. 0: of a file, which no process may have open.
  std::int64_t least = 0;
};

}  // namespace ackbox
