#pragma once

#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_operator.hpp"
#include "ackbox/outbox_reader.hpp"
#include "cli/arguments.hpp"
#include "cli/console.hpp"
#include "cli/tool.hpp"

namespace ackbox::cli {

/// Rows that a listing reads at a time.
inline constexpr std::size_t kPage = 1'000;

/// The file for a look. Throws `Error`; the file is not changed.
[[nodiscard]] OutboxReader openToRead(const World& world, const Arguments& arguments);

/// Another file in the same way.
[[nodiscard]] OutboxReader openToRead(const World& world, const Arguments& arguments,
                                      const std::filesystem::path& file);

/// That the file has no such session, as a sentence.
[[nodiscard]] std::string unknownSession(const std::string& peer, const std::string& session);

/// What `--peer`, `--session`, `--type` and `--state` choose.
[[nodiscard]] MessageFilter messageFilterOf(const Arguments& arguments);

/// Remarks on a `--peer` that the file does not know, or a `--session` of it that never had a message. For commands
/// that found nothing: the name may be misspelt.
void remarkUnknownNames(Console& console, const OutboxReader& reader, const Arguments& arguments);

/// See `OutboxOperator::repairFile` and, for a dry run, `OutboxOperator::previewRepair`.
FileRepairReport repairFile(const World& world, const Arguments& arguments);

/// Makes the outbox in `file` a new store, see `OutboxOperator::makeNewStore`.
NewStoreReport makeNewStore(const World& world, const Arguments& arguments, const std::filesystem::path& file);

/// The file for enqueues, beside whatever agent runs on it: never made, never migrated, its peers as they are. It does
/// not deliver. Throws `Error`.
[[nodiscard]] OutboxManager openToEnqueue(const World& world, const Arguments& arguments);

/// The same for what an operator changes.
[[nodiscard]] OutboxOperator openToChange(const World& world, const Arguments& arguments);

}  // namespace ackbox::cli
