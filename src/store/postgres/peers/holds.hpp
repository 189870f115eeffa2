#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "store/postgres/context.hpp"
#include "store/store.hpp"

namespace ackbox::store::postgres {

/// Operators' pauses and blocks, and the count of orders, by which every process notices that one of them has changed.
class Holds final : public store::Holds {
public:
  explicit Holds(Context& context) : context_(context) {}

  bool pausePeer(std::string_view peer) override;
  bool resumePeer(std::string_view peer) override;
  bool pauseSession(std::string_view peer, std::string_view session) override;
  bool resumeSession(std::string_view peer, std::string_view session) override;
  bool unblock(std::string_view peer, std::string_view session) override;

  void block(delivery::SessionKey session, delivery::MessageKey key);
  /// If the dead letter blocks it.
  void endBlock(delivery::SessionKey session, delivery::MessageKey key);

  /// The count of orders as it was just read.
  void noteOrders(std::int64_t orders) noexcept;
  [[nodiscard]] std::optional<delivery::HoldSnapshot> takeChanged();
  void restart() noexcept { isChanged_ = true; }
  void countChange();
  /// Throws `unknownPeer`.
  [[nodiscard]] delivery::PeerKey peerOf(std::string_view peer);

private:
  bool changed(std::size_t rows);

  Context& context_;
  bool isChanged_ = true;
};

}  // namespace ackbox::store::postgres
