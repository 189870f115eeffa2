#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/postgres/context.hpp"
#include "store/store.hpp"

namespace ackbox::store::postgres {

/// SQL: the owner that has claimed `o`, a row of the outbox; NULL: none has.
inline constexpr std::string_view kClaimant =
    "(SELECT c.owner_id FROM #claims AS c WHERE c.id=CASE WHEN o.sequence>0 THEN -o.session_id ELSE o.id END AND "
    "o.id=ANY(c.keys))";

/// Claims sessions and their head rows for this owner, and releases sessions. A session and its messages in flight are
/// one row of a table that is not logged; its owner's life is the lock that its connection holds, so a process that can
/// still commit has its claims.
///
/// All in a transaction. Thread-safety: none.
class Claims final : public store::Claims {
public:
  explicit Claims(Context& context) : context_(context) {}

  ClaimReply claim(std::span<const delivery::SessionClaim> sessions, std::int64_t recalls, std::uint64_t bytesMax,
                   std::size_t framesMax) override;
  void endClaims(std::span<const delivery::SessionRelease> releases) override;

private:
  struct Session {
    std::string name;
    std::int64_t owner = 0;
    bool isHalted = false;
    std::int64_t recall = 0;
    std::uint8_t priority = 0;
    WallTime dueAt{};
    bool isFirm = false;
    std::uint64_t previous = 0;
    std::uint64_t confirmed = 0;
    /// What this owner's earlier claim has in flight; nothing: the claim is new.
    std::optional<std::set<delivery::MessageKey>> inFlight = {};
  };
  /// What is to be claimed: the key of a claim, and its messages.
  using Wanted = std::map<std::int64_t, std::vector<delivery::MessageKey>>;
  /// The claims that this owner has, those of an earlier call with what they have in flight.
  using Held = std::map<std::int64_t, std::optional<std::set<delivery::MessageKey>>>;
  struct Message {
    delivery::SessionKey session = 0;
    MessageState state{};
    std::uint32_t attempt = 0;
    WallTime dueAt{};
    std::optional<WallTime> notBefore;
    bool isHeld = false;
    std::size_t dataBytes = 0;
    /// Its data may not be read yet.
    OutboundFrame frame;
  };
  // What one claim has read, and its parameters.
  struct Look {
    WallTime now;
    std::int64_t recalls = 0;
    std::uint64_t bytesMax = 0;
    std::size_t framesMax = 0;
    std::map<delivery::SessionKey, Session> sessions = {};
    Wanted wanted = {};
    std::map<delivery::MessageKey, Message> messages = {};
    /// They wait, and were not read: another transaction is changing them, or they are more than may be taken.
    std::set<delivery::MessageKey> locked = {};
    std::set<delivery::MessageKey> taken = {};
  };

  void read(std::span<const delivery::SessionClaim> wanted, Look& look);
  void noteSessions(Held held, const Result& sessions, Look& look) const;
  void noteMessages(const Result& messages, Look& look) const;
  void noteLocked(std::span<const delivery::SessionClaim> wanted, Look& look);
  /// Claims what no other owner has claimed: the result says what this owner has.
  void askToHold(const Wanted& wanted);
  [[nodiscard]] static Held heldOf(const Result& claims);
  /// The session's claim names what is in flight.
  void nameKeys(delivery::SessionKey session, std::set<delivery::MessageKey> taken,
                const std::optional<std::set<delivery::MessageKey>>& inFlight,
                const std::vector<delivery::MessageKey>& wanted);
  [[nodiscard]] delivery::SessionClaimed claimSession(const delivery::SessionClaim& wanted, Look& look,
                                                      ClaimReply& reply);
  void claimRow(delivery::MessageKey key, delivery::MessageKey waited, Look& look, delivery::SessionClaimed& session,
                ClaimReply& reply);
  [[nodiscard]] bool isOurs(delivery::SessionKey session, const delivery::AcceptedFrame& frame);
  void holdTaken(Look& look, ClaimReply& reply);
  void letGo(std::span<const std::int64_t> keys);

  Context& context_;
};

}  // namespace ackbox::store::postgres
