#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ackbox/diagnosis.hpp"
#include "ackbox/options.hpp"
#include "delivery/types.hpp"
#include "sqlite/statement.hpp"
#include "store/reader.hpp"
#include "store/sqlite/sqlite_names.hpp"

namespace ackbox::store::sqlite {

/// Finds why a message is in its state. In a snapshot, so that its facts are of one instant.
///
/// Thread-safety: that of the connection.
class Explainer {
public:
  Explainer(sqlite3* connection, const OutboxOptions& options, PeerLookup peers);

  /// The reasons for `message`, which is in the file. No live row has a smaller key than `oldest`.
  [[nodiscard]] std::vector<Reason> reasons(const MessageInfo& message, delivery::MessageKey oldest);

private:
  struct Facts;

  [[nodiscard]] std::optional<Reason> ahead(const Facts& facts, delivery::MessageKey oldest);
  [[nodiscard]] Reason ownerReason(BlockReason whenAlive, std::int64_t owner);

  const OutboxOptions options_;
  // Empty: the peers are those of the options.
  const PeerLookup peers_;
  const std::filesystem::path sidecar_;
  Statement facts_;
  Statement inFlight_;
  Statement head_;
  Statement lookUp_;
  Statement lookDown_;
  Statement beyond_;
  Statement process_;
};

}  // namespace ackbox::store::sqlite
