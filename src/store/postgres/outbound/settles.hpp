#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/decisions/settling.hpp"
#include "store/postgres/context.hpp"
#include "store/postgres/outbound/vacated_numbers.hpp"
#include "store/postgres/peers/holds.hpp"
#include "store/postgres/peers/peer_resets.hpp"
#include "store/store.hpp"

namespace ackbox::store::postgres {

/// Latencies of a transaction's acknowledgements, which count once it is committed.
class AckLatencies final : public Memory {
public:
  AckLatencies(LatencyWindow& window, Clock& clock) : window_(window), clock_(clock) {}
  void acknowledged(WallTime enqueuedAt, WallTime now) { latencies_.push_back(std::max(now - enqueuedAt, {})); }
  void committed() noexcept override;
  void rolledBack() noexcept override { latencies_.clear(); }

private:
  LatencyWindow& window_;
  Clock& clock_;
  std::vector<std::chrono::milliseconds> latencies_;
};

/// Applies guarded state changes: the rows are locked and read together, the changes are decided one after the other,
/// and written together.
///
/// All in a transaction. Thread-safety: none.
class Settles final : public store::Settles, public Memory {
public:
  Settles(Context& context, Holds& holds, PeerResets& peerResets, AckLatencies& latencies)
      : context_(context), holds_(holds), peerResets_(peerResets), latencies_(latencies), vacated_(context) {}

  std::vector<std::optional<SettledMessage>> settle(std::span<const delivery::Settlement> settlements) override;
  std::optional<AckedById> ackById(std::string_view messageId) override;
  AckEventOutcome applyAckEvent(std::string_view agent, std::string_view messageId, std::uint64_t sequence,
                                const FrameResult& result, std::string_view origin, std::optional<WallTime> time,
                                std::span<const std::string> mailboxes) override;
  std::size_t purgeAcked(std::size_t limit) override;
  std::size_t purgeAcked(std::size_t limit, std::chrono::milliseconds age) override;

  // What a call had gathered when a statement failed is not written by the next one.
  void rolledBack() noexcept override;
  void scopeUndone() noexcept override { rolledBack(); }

private:
  /// A row as it is stored, with what decisions need besides.
  struct Facts {
    delivery::SessionKey session = 0;
    std::uint64_t sequence = 0;
    std::int64_t bytes = 0;
    WallTime enqueuedAt{};
    std::string messageId;
    MessageState state{};
    std::int64_t attempt = 0;
    delivery::PeerKey peer = 0;
    /// Of the claim; 0: none has it.
    std::int64_t owner = 0;
    std::int64_t recall = 0;
    std::uint64_t confirmed = 0;
    std::string type;
  };
  /// The writes that are gathered.
  struct Changes {
    std::vector<std::int64_t> gone;
    std::vector<const delivery::Settlement*> updated;
    /// What is no longer in flight without a session.
    std::vector<std::int64_t> units;
  };

  void read(std::span<const delivery::Settlement> settlements);
  void write();
  void writeUpdates();
  std::optional<SettledMessage> apply(const delivery::Settlement& settlement, bool isOwn);
  [[nodiscard]] bool isInState(const delivery::Settlement& settlement, const Facts& facts, bool isOwn) const;
  [[nodiscard]] static bool isForgotten(const delivery::Settlement& settlement, const Facts& facts);
  void noteLost(const delivery::Settlement& settlement);
  void noteProof(const delivery::Settlement& settlement, delivery::Next next, const Facts& facts, bool isOwn);
  [[nodiscard]] ReleasedClaims::Session& released(const Facts& facts);
  void note(const delivery::Settlement& settlement, delivery::Next next, const Facts& facts);
  void count(const delivery::Settlement& settlement, delivery::Next next, const Facts& facts);
  void noteAttendance(delivery::PeerKey peer, std::string_view type, std::optional<WallTime> since);
  std::optional<LocatedMessage> locate(std::string_view messageId);
  std::optional<SettledMessage> applyAlone(const delivery::Settlement& settlement);
  std::size_t purge(std::size_t limit, WallTime until);

  Context& context_;
  Holds& holds_;
  PeerResets& peerResets_;
  AckLatencies& latencies_;
  VacatedNumbers vacated_;
  std::map<delivery::MessageKey, Facts> facts_;
  Changes changes_;
  // Sessions with rows that this call released, because the peer has lost them since its answer.
  std::set<delivery::SessionKey> returned_;
};

}  // namespace ackbox::store::postgres
