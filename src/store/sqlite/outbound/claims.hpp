#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "store/sqlite/context.hpp"
#include "store/store.hpp"

namespace ackbox::store::sqlite {

/// Takes sessions and their head rows for this owner, and gives sessions back.
///
/// All in a transaction. Thread-safety: none.
class Claims final : public store::Claims {
public:
  explicit Claims(Context& context);

  ClaimReply claim(std::span<const delivery::SessionClaim> sessions, std::int64_t recalls,
                   std::uint64_t bytesMax) override;
  void endClaims(std::span<const delivery::SessionRelease> releases) override;

private:
  // Of one claim.
  struct Look {
    WallTime now;
    std::int64_t recalls = 0;
    std::uint64_t bytesMax = 0;
  };

  void claimSession(const delivery::SessionClaim& wanted, const Look& look, ClaimReply& reply);
  void claimUnit(const delivery::SessionClaim& wanted, const Look& look, ClaimReply& reply);
  /// `known` is the row's session; null: it is to be looked for.
  void claimRow(delivery::MessageKey key, delivery::MessageKey waited, const Look& look, const SessionRow* known,
                delivery::SessionClaimed& session, ClaimReply& reply);
  /// Whether it, or its session, is not what was written.
  [[nodiscard]] bool isDamaged(const OutboxRow& row, const SessionRow* known);
  /// Null: there is no such session. Valid until the cache's next change.
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
