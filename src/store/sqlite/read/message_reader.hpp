#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "ackbox/diagnosis.hpp"
#include "ackbox/message_page.hpp"
#include "ackbox/options.hpp"
#include "sqlite/statement.hpp"
#include "store/reader.hpp"
#include "store/sqlite/read/explainer.hpp"
#include "store/sqlite/read/stats_reader.hpp"
#include "store/sqlite/sqlite_names.hpp"

namespace ackbox::store::sqlite {

/// Reads one message, why it stands where it stands, and which processes have the file open. In a snapshot, so that the
/// facts are of one instant.
///
/// Thread-safety: that of the connection.
class MessageReader {
public:
  /// Without `peers`, the peers are those of `options`.
  MessageReader(sqlite3* connection, const OutboxOptions& options, PeerLookup peers = {});

  /// Nothing: the file has no message of this id.
  [[nodiscard]] std::optional<MessageInfo> find(std::string_view messageId);
  /// The same, with its reasons and without a sentence. `stats`: of the same connection.
  [[nodiscard]] std::optional<Explanation> explain(std::string_view messageId, StatsReader& stats);
  /// Those that live.
  [[nodiscard]] std::vector<std::int64_t> processIds();

private:
  const std::filesystem::path sidecar_;
  Statement find_;
  Statement attempts_;
  Statement owners_;
  Explainer explainer_;
};

}  // namespace ackbox::store::sqlite
