#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "delivery/transition.hpp"
#include "store/sqlite/context.hpp"
#include "store/sqlite/outbound/vacated_numbers.hpp"
#include "store/sqlite/peers/attendance.hpp"
#include "store/sqlite/peers/holds.hpp"
#include "store/sqlite/peers/peer_resets.hpp"
#include "store/store.hpp"

namespace ackbox::store::sqlite {

/// Applies guarded state changes: a row that is not where the settlement says, or is another claim's by now, stays as
/// it is.
///
/// All in a transaction. Thread-safety: none.
class Settles final : public store::Settles {
public:
  Settles(Context& context, Holds& holds, PeerResets& peerResets);

  std::vector<std::optional<SettledMessage>> settle(std::span<const delivery::Settlement> settlements) override;
  std::optional<AckedById> ackById(std::string_view messageId) override;
  AckEventOutcome applyAckEvent(std::string_view agent, std::string_view messageId, std::uint64_t sequence,
                                const FrameResult& result, std::string_view origin,
                                std::optional<WallTime> time) override;
  std::size_t purgeAcked(std::size_t limit) override;
  std::size_t purgeAcked(std::size_t limit, std::chrono::milliseconds age) override;

private:
  /// A message found by its id, with what a settlement of it needs.
  struct Located {
    delivery::Settlement settlement;
    std::string peer;
    std::string session;
    std::string agent;
    /// The peer's store, as far as it is known, and how often the peer was reset.
    std::string store;
    std::int64_t resets = 0;
    WallTime enqueuedAt{};
  };
  std::optional<Located> locate(std::string_view messageId);
  /// Whether an ACK event is not about the message as it is now.
  [[nodiscard]] static bool isOfEarlier(const Located& found, std::uint64_t sequence, std::optional<WallTime> time);
  [[nodiscard]] static bool isLate(const Located& found, std::string_view origin);
  void finishFailed(const delivery::Settlement& settlement);
  std::optional<SettledMessage> apply(const delivery::Settlement& settlement, bool isOwn);
  /// Of a row that was deferred.
  void noteAttendance(const delivery::Settlement& settlement, delivery::SessionKey session);
  [[nodiscard]] bool isForgotten(const delivery::Settlement& settlement, delivery::SessionKey session);
  [[nodiscard]] bool isInState(const delivery::Settlement& settlement, bool isOwn);

  /// What the row itself must say, besides the claim.
  struct Guard {
    MessageState state{};
    /// Claims before the one that is settled.
    std::optional<std::int64_t> attempt;
  };
  [[nodiscard]] static Guard guardOf(const delivery::Settlement& settlement);
  struct Found {
    RowFacts facts;
    /// This owner claimed it, and it is as it was then: the guard holds.
    bool isKnown = false;
  };
  [[nodiscard]] std::optional<Found> find(const delivery::Settlement& settlement, const Guard& guard);
  /// False when the guard did not hold: nothing is changed.
  [[nodiscard]] bool write(const delivery::Settlement& settlement, const Guard& guard, delivery::Next next,
                           bool isKnown);
  std::size_t purge(std::size_t limit, WallTime until);
  /// Removes what settlements left to be removed together.
  void removeKnown();
  void count(const delivery::Settlement& settlement, delivery::Next next, const RowFacts& row);
  /// What the settlement of an ordered message says of what its peer has.
  void noteProof(const delivery::Settlement& settlement, delivery::Next next, const RowFacts& row, bool isOwn);

  Context& context_;
  Holds& holds_;
  PeerResets& peerResets_;
  Attendance attendance_;
  VacatedNumbers vacated_;
  // Sessions with rows that this call gave back, because the peer has lost what it said of them.
  std::set<delivery::SessionKey> returned_;
  Statement find_;
  Statement remove_;
  Statement removeMany_;
  Statement removeRun_;
  Statement keepAcked_;
  Statement update_;
  // The same for what went wrong.
  Statement updateFailed_;
  Statement locate_;
  Statement noteSent_;
  Statement selectRecall_;
  Statement selectPurged_;
  Statement purge_;
};

}  // namespace ackbox::store::sqlite
