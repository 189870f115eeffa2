#pragma once

#include <cstdint>
#include <optional>
#include <set>

#include "store/postgres/context.hpp"
#include "store/postgres/memory.hpp"
#include "store/postgres/outbound/discovery.hpp"
#include "store/postgres/peers/peers.hpp"
#include "store/store.hpp"

namespace ackbox::store::postgres {

/// The peers' identities, and the messages that are put back when a peer has lost them.
class PeerResets final : public store::PeerResets, public Memory {
public:
  PeerResets(Context& context, Peers& peers, Discovery& discovery)
      : context_(context), peers_(peers), discovery_(discovery) {}

  std::optional<PeerResetEvent> recordIdentity(const delivery::PeerIdentity& identity) override;
  /// Rows of these sessions were given back: nobody claims them before having read them again.
  void recall(const std::set<delivery::SessionKey>& sessions);

  /// A transaction has begun; `recalls` is their number as it was just read.
  void begun(std::int64_t recalls) noexcept;
  void committed() noexcept override;
  void rolledBack() noexcept override { context_.recallsMade = committed_; }

private:
  [[nodiscard]] bool noteLost(const delivery::PeerIdentity& identity, PeerResetEvent& event);
  void noteRestored(const delivery::PeerIdentity& identity, PeerResetEvent& event);
  /// Waits for settles of the peer's messages in flight that are under way, and keeps others out until the reset is
  /// committed: they see its recall then.
  void holdInFlight(delivery::PeerKey peer);
  std::uint64_t resend(delivery::PeerKey peer, delivery::SessionKey session, std::uint64_t accepted);
  /// Of the peer, or of one of its sessions.
  void putBackDeferred(delivery::PeerKey peer, delivery::SessionKey session);
  /// Counts the rows that were put back, and recalls their sessions; returns how many.
  std::int64_t note(delivery::PeerKey peer, const Result& returned, MessageState from);
  std::int64_t countRecall();

  Context& context_;
  Peers& peers_;
  Discovery& discovery_;
  std::int64_t committed_ = 0;
};

}  // namespace ackbox::store::postgres
