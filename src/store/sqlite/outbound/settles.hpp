#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "delivery/transition.hpp"
#include "store/decisions/settling.hpp"
#include "store/sqlite/context.hpp"
#include "store/sqlite/outbound/vacated_numbers.hpp"
#include "store/sqlite/peers/attendance.hpp"
#include "store/sqlite/peers/holds.hpp"
#include "store/sqlite/peers/peer_resets.hpp"
#include "store/store.hpp"

namespace ackbox::store::sqlite {

/// Applies guarded state changes: a row in another state than the settlement's, or with a later claim, is not changed.
///
/// All in a transaction. Thread-safety: none.
class Settles final : public store::Settles {
public:
  Settles(Context& context, Holds& holds, PeerResets& peerResets);

  std::vector<std::optional<SettledMessage>> settle(std::span<const delivery::Settlement> settlements) override;
  std::optional<AckedById> ackById(std::string_view messageId) override;
  AckEventOutcome applyAckEvent(std::string_view agent, std::string_view messageId, std::uint64_t sequence,
                                const FrameResult& result, std::string_view origin, std::optional<WallTime> time,
                                std::span<const std::string> mailboxes) override;
  std::size_t purgeAcked(std::size_t limit) override;
  std::size_t purgeAcked(std::size_t limit, std::chrono::milliseconds age) override;

private:
  std::optional<LocatedMessage> locate(std::string_view messageId);
  void finishFailed(const delivery::Settlement& settlement);
  std::optional<SettledMessage> apply(const delivery::Settlement& settlement, bool isOwn);
  /// For a deferred row.
  void noteAttendance(const delivery::Settlement& settlement, delivery::SessionKey session);
  [[nodiscard]] bool isForgotten(const delivery::Settlement& settlement, delivery::SessionKey session);
  [[nodiscard]] bool isInState(const delivery::Settlement& settlement, bool isOwn);

  /// The row's own part of the guard, besides the claim.
  struct Guard {
    MessageState state{};
    /// The number of claims before the one that is settled.
    std::optional<std::int64_t> attempt;
  };
  [[nodiscard]] static Guard guardOf(const delivery::Settlement& settlement);
  struct Found {
    RowFacts facts;
    /// This owner claimed the row, and it has not changed since: the guard holds.
    bool isKnown = false;
  };
  [[nodiscard]] std::optional<Found> find(const delivery::Settlement& settlement, const Guard& guard);
  /// False, with nothing changed, if the guard did not hold.
  [[nodiscard]] bool write(const delivery::Settlement& settlement, const Guard& guard, delivery::Next next,
                           bool isKnown);
  std::size_t purge(std::size_t limit, WallTime until);
  /// Removes the rows in `InFlight::toRemove` together.
  void removeKnown();
  void count(const delivery::Settlement& settlement, delivery::Next next, const RowFacts& row);
  /// Records the sequence that its peer has, as shown by the settlement of an ordered message.
  void noteProof(const delivery::Settlement& settlement, delivery::Next next, const RowFacts& row, bool isOwn);

  Context& context_;
  Holds& holds_;
  PeerResets& peerResets_;
  Attendance attendance_;
  VacatedNumbers vacated_;
  // Sessions with rows that this call released, because the peer has lost them since its answer.
  std::set<delivery::SessionKey> returned_;
  Statement find_;
  Statement remove_;
  Statement removeMany_;
  Statement removeRun_;
  Statement keepAcked_;
  Statement update_;
  // The same for a settlement with an error.
  Statement updateFailed_;
  Statement locate_;
  Statement noteSent_;
  Statement selectRecall_;
  Statement selectPurged_;
  Statement purge_;
};

}  // namespace ackbox::store::sqlite
