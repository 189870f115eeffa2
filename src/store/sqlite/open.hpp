#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "ackbox/diagnosis.hpp"
#include "ackbox/file_info.hpp"
#include "ackbox/file_repair.hpp"
#include "ackbox/options.hpp"
#include "store/place.hpp"
#include "store/store.hpp"

namespace SQLite {
class Database;
}

namespace ackbox::store::sqlite {

/// Opens the store in `file`, as `OutboxManager::open` documents.
[[nodiscard]] std::unique_ptr<store::Store> openStore(const std::filesystem::path& file, const OutboxOptions& options);

/// Opens a reader of `file`, which a store has opened before, or which has passed `requireOutbox`. Without `peers`, the
/// peers are those of `options`.
[[nodiscard]] std::unique_ptr<const store::Reader> openReader(const std::filesystem::path& file,
                                                              const OutboxOptions& options, PeerLookup peers = {});

/// Throws as opening `file` for reading would: `cannotOpen`, `notADatabase`, `schemaTooNew`, `schemaMissing`, …
void requireOutbox(const std::filesystem::path& file, const OutboxOptions& options);

/// The store in `file`, which this process has open as long as this lives. Throws `Error` with `otherProcess`, see
/// `OpenFile`.
[[nodiscard]] std::unique_ptr<const store::Place> placeOf(const std::filesystem::path& file);

/// Checks every invariant of the file in one snapshot, on a connection of its own. The file must have been opened by a
/// `Store` before. Throws `Error`.
[[nodiscard]] VerifyReport verify(const std::filesystem::path& file, const OutboxOptions& options);

/// See `OutboxOperator::repairFile` and, for a rehearsal, `OutboxOperator::previewRepair`.
FileRepairReport repairFile(const std::filesystem::path& file, const OutboxOptions& options, bool isRehearsal);

/// See `OutboxOperator::previewMigration`.
[[nodiscard]] MigrationReport previewMigration(const std::filesystem::path& file, const OutboxOptions& options);

/// The steps of a migration before tables are changed; the file cannot be written meanwhile.
struct MigrationSteps {
  /// Copies the file, and returns the copy's name.
  std::function<std::filesystem::path(const MigrationReport& planned)> backUp;
  std::function<void(const MigrationReport& planned)> announce;
};
/// See `OutboxOperator::migrateFile`. The first step is usually `backUpBefore`.
MigrationReport migrateFile(const std::filesystem::path& file, const OutboxOptions& options,
                            const MigrationSteps& steps);

/// Copies `file` to a name beside it that says the version of its tables. Returns the name. Throws `Error`,
/// `std::filesystem::filesystem_error`.
[[nodiscard]] std::filesystem::path backUpBefore(const std::filesystem::path& file, const MigrationReport& planned,
                                                 const OutboxOptions& options);

/// See `OutboxOperator::makeNewStore`.
NewStoreReport makeNewStore(const std::filesystem::path& file, const OutboxOptions& options);

/// The connection of a store that `openStore` made: for handlers; their statements are part of its transaction.
[[nodiscard]] SQLite::Database& databaseOf(store::Store& store);

}  // namespace ackbox::store::sqlite
