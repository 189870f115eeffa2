#pragma once

#include <functional>

#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_operator.hpp"
#include "ackbox/outbox_reader.hpp"
#include "ackbox/postgres.hpp"
#include "cli/arguments.hpp"
#include "cli/console.hpp"
#include "cli/tool.hpp"

namespace ackbox::cli {

/// Rows that a listing reads per query.
inline constexpr std::size_t kPage = 1'000;

/// Opens the file for reading, and does not change it. Throws `Error`.
[[nodiscard]] OutboxReader openToRead(const World& world, const Arguments& arguments);

/// Opens another file in the same way.
[[nodiscard]] OutboxReader openToRead(const World& world, const Arguments& arguments,
                                      const std::filesystem::path& file);

/// A sentence that says that the file has no such session.
[[nodiscard]] std::string unknownSession(const std::string& peer, const std::string& session);

/// The filter that `--peer`, `--session`, `--type`, `--state`, `--since` and `--before` describe.
[[nodiscard]] MessageFilter messageFilterOf(const World& world, const Arguments& arguments);

/// The filter that `--peer`, `--session`, `--type`, `--reason`, `--error` and `--older-than` describe.
[[nodiscard]] DeadLetterFilter deadLetterFilterOf(const Arguments& arguments);

/// Prints a remark if the file does not know `--peer`, or if that peer never had a message in `--session`. For commands
/// that found nothing: the name may be misspelt.
void remarkUnknownNames(Console& console, const OutboxReader& reader, const Arguments& arguments);

/// See `OutboxOperator::repairFile` and, for a dry run, `OutboxOperator::previewRepair`. A database is counted anew,
/// see `OutboxOperator::repair`; it has no dry run.
FileRepairReport repairFile(const World& world, const Arguments& arguments);

/// See `OutboxOperator::previewMigration`, and `previewMigration` of a database.
MigrationReport previewMigration(const World& world, const Arguments& arguments);

/// See `OutboxOperator::migrateFile`, and `migrateDatabase`.
MigrationReport migrateTables(const World& world, const Arguments& arguments,
                              const std::function<void(const MigrationReport& planned)>& announce);

/// Moves the outbox of the file to the database of `arguments.to`, see `moveOutbox`.
MoveReport moveOutbox(const World& world, const Arguments& arguments, const MoveProgress& progress);

/// Makes the outbox in `file`, or in a database, a new store, see `OutboxOperator::makeNewStore`.
NewStoreReport makeNewStore(const World& world, const Arguments& arguments, const std::filesystem::path& file);

/// Opens the file for enqueues, beside any agent that runs on it. Does not create or migrate the file, change its
/// peers, or deliver. Throws `Error`.
[[nodiscard]] OutboxManager openToEnqueue(const World& world, const Arguments& arguments);

/// Like `openToEnqueue`, for the changes that an operator makes.
[[nodiscard]] OutboxOperator openToChange(const World& world, const Arguments& arguments);

}  // namespace ackbox::cli
