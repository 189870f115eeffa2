#pragma once

#include <optional>
#include <vector>

#include "ackbox/diagnosis.hpp"
#include "ackbox/options.hpp"
#include "postgres/connection.hpp"
#include "store/postgres/names.hpp"
#include "store/reader.hpp"

namespace ackbox::store::postgres {

/// Why a message is where it is. In the caller's transaction, which has one snapshot.
class Explainer {
public:
  Explainer(Connection& connection, const OutboxOptions& options, PeerLookup peers);

  [[nodiscard]] std::vector<Reason> reasons(const MessageInfo& message);

private:
  [[nodiscard]] std::optional<Reason> ahead(delivery::SessionKey session, std::uint64_t sequence);
  [[nodiscard]] Reason ownerReason(BlockReason whenAlive, std::int64_t owner);

  Connection& connection_;
  const OutboxOptions& options_;
  PeerLookup peers_;
};

/// The process of an owner, and whether it lives.
struct OwnerLook {
  std::int64_t processId = 0;
  bool lives = false;
};
[[nodiscard]] OwnerLook lookAtOwner(Connection& connection, std::int64_t owner);

}  // namespace ackbox::store::postgres
