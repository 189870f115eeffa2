#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "store/sqlite/context.hpp"
#include "store/store.hpp"

namespace ackbox::store::sqlite {

/// Claims sessions and their head rows for this owner, and releases sessions.
///
/// All in a transaction. Thread-safety: none.
class Claims final : public store::Claims {
public:
  explicit Claims(Context& context);

  ClaimReply claim(std::span<const delivery::SessionClaim> sessions, std::int64_t recalls, std::uint64_t bytesMax,
                   std::size_t framesMax) override;
  void endClaims(std::span<const delivery::SessionRelease> releases) override;

private:
  // The parameters of one claim.
  struct Look {
    WallTime now;
    std::int64_t recalls = 0;
    std::uint64_t bytesMax = 0;
    std::size_t framesMax = 0;
  };

  void claimSession(const delivery::SessionClaim& wanted, const Look& look, ClaimReply& reply);
  void claimUnit(const delivery::SessionClaim& wanted, const Look& look, ClaimReply& reply);
  void claimRow(delivery::MessageKey key, delivery::MessageKey waited, const Look& look,
                delivery::SessionClaimed& session, ClaimReply& reply);
  /// `isHeld`: an earlier claim of this owner has the row.
  void take(delivery::MessageKey key, OutboxRow& row, bool isHeld, delivery::SessionClaimed& session,
            ClaimReply& reply);
  /// Null if there is no such session. Valid until the cache's next change.
  [[nodiscard]] SessionRow* sessionOf(delivery::SessionKey key);
  [[nodiscard]] std::optional<OutboxRow> read(delivery::MessageKey key);
  [[nodiscard]] bool isOurs(delivery::SessionKey session, const delivery::AcceptedFrame& frame);

  Context& context_;
  Statement selectSession_;
  Statement isOurs_;
  Statement selectRow_;
  Statement claimAgain_;
};

}  // namespace ackbox::store::sqlite
