#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "delivery/types.hpp"
#include "postgres/connection.hpp"
#include "store/postgres/memory.hpp"
#include "store/postgres/names.hpp"

namespace ackbox::store::postgres {

/// What settles change of claims and of the states of their sessions, until it is written: together with the end of the
/// claim, which mostly follows in the same transaction, or before any code looks.
class ReleasedClaims final : public Memory {
public:
  struct Session {
    /// No longer in flight.
    std::vector<std::int64_t> keys;
    /// The greatest number of what has gone, and of what an answer shows the peer to have.
    std::uint64_t last = 0;
    std::uint64_t confirmed = 0;
    /// All of it was in this process's claim.
    bool isOwn = true;
  };

  explicit ReleasedClaims(Connection& connection) : connection_(connection) {}

  [[nodiscard]] Session& of(delivery::SessionKey session) { return sessions_[session]; }
  /// What the end of this process's claim is to write besides.
  [[nodiscard]] Session take(delivery::SessionKey session);

  void flush() override;
  void rolledBack() noexcept override { sessions_.clear(); }
  void scopeUndone() noexcept override { sessions_.clear(); }

private:
  Connection& connection_;
  std::map<delivery::SessionKey, Session> sessions_;
};

}  // namespace ackbox::store::postgres
