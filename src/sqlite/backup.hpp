#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "ackbox/options.hpp"

namespace ackbox::sqlite {

/// Copies `file` page by page, in one snapshot, to `to`, which must not be there: see `OutboxReader::backUp`.
///
/// By SQLite's online backup and not by VACUUM INTO: a copy of the pages keeps the row ids of an application's tables,
/// needs no functions that only the application has, copies what a damaged schema could not, and knows how far it is.
/// It would begin again at each commit of an agent; the snapshot, which is open from the first page to the last, keeps
/// it from that.
void backUp(const std::filesystem::path& file, const std::filesystem::path& to, const OutboxOptions& options,
            const std::function<void(std::uint64_t done, std::uint64_t of)>& progress);

}  // namespace ackbox::sqlite
