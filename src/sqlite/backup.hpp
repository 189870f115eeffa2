#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "ackbox/options.hpp"

namespace ackbox::sqlite {

/// Copies `file` page by page, in one snapshot, to `to`, which must not be there: see `OutboxReader::backUp`.
///
/// Uses SQLite's online backup and not VACUUM INTO: a copy of the pages keeps the row ids of an application's tables,
/// needs no functions that only the application has, works with a damaged schema, and can report progress. The online
/// backup restarts after each commit; a snapshot that is open from the first page to the last prevents that.
void backUp(const std::filesystem::path& file, const std::filesystem::path& to, const OutboxOptions& options,
            const std::function<void(std::uint64_t done, std::uint64_t of)>& progress);

/// Makes the name of `file` outlast a power cut. Throws `ioError`, `diskFull`.
void syncFolderOf(const std::filesystem::path& file);

}  // namespace ackbox::sqlite
