#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "ackbox/file_info.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_reader.hpp"
#include "ackbox/postgres.hpp"

namespace ackbox::location {

/// Whether `place` is meant as a database's, by a URL or as `host=… dbname=…`, and not as a file's path.
[[nodiscard]] bool isUrl(const std::filesystem::path& place);

/// `place` for people: a URL without its user, password and parameters; of what cannot be read, nothing is shown.
[[nodiscard]] std::string shown(const std::filesystem::path& place);

/// Opens the outbox in a file, or in the database of a URL. Throws `Error` as `OutboxManager::open`, and `cannotOpen`
/// for a URL where the program was built without PostgreSQL.
[[nodiscard]] OutboxManager openManager(const std::filesystem::path& place, OutboxOptions options);

/// The same for `OutboxReader::open`.
[[nodiscard]] OutboxReader openReader(const std::filesystem::path& place, OutboxOptions options);

/// See `OutboxOperator::migrateFile` and `ackbox::migrateDatabase`. Throws `cannotOpen` as `openManager`.
MigrationReport migrate(const std::filesystem::path& place, OutboxOptions options,
                        const std::function<void(const MigrationReport& planned)>& announce);

/// The same without a change.
[[nodiscard]] MigrationReport previewMigration(const std::filesystem::path& place, OutboxOptions options);

/// See `OutboxOperator::makeNewStore`, and that of `ackbox/postgres.hpp`.
NewStoreReport makeNewStore(const std::filesystem::path& place, OutboxOptions options);

/// See `ackbox::moveOutbox`; `database` is a URL.
MoveReport moveOutbox(const std::filesystem::path& file, const std::filesystem::path& database, OutboxOptions options,
                      const MoveProgress& progress);

}  // namespace ackbox::location
