#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/decisions/known_peers.hpp"
#include "store/postgres/context.hpp"
#include "store/postgres/memory.hpp"
#include "store/postgres/peers/holds.hpp"
#include "store/store.hpp"

namespace ackbox::store::postgres {

/// The rows of the configured peers, and of those that were added to the store at run time.
class Peers final : public store::Peers, public Memory {
public:
  /// `options`: those of the context, where peers that are added are kept, too.
  Peers(Context& context, std::vector<PeerOptions>& options, Holds& holds)
      : context_(context), holds_(holds), known_(context.options, options) {}

  /// Writes the configuration and reads the keys. In a transaction.
  void configure();
  [[nodiscard]] std::span<const PeerRow> rows() const noexcept override { return known_.rows(); }
  [[nodiscard]] const PeerRow* find(delivery::PeerKey key) const noexcept override { return known_.find(key); }
  [[nodiscard]] const PeerRow* find(std::string_view name) const noexcept { return known_.find(name); }
  void record(const delivery::PeerRecord& record) override;
  [[nodiscard]] std::vector<PeerRow> current() override;
  std::optional<bool> define(const PeerOptions& peer, std::string_view definition);
  PeerRemoval remove(std::string_view name, WaitingMessages waiting);
  [[nodiscard]] std::vector<PeerChange> takeChanges() override { return known_.takeChanges(); }

  /// A transaction has begun, and the count of orders was read.
  void begun();
  void committed() noexcept override { isTouched_ = false; }
  void rolledBack() noexcept override;

private:
  /// Of a name in the store. `other`: it is unknown, or of a configuration.
  enum class Standing : std::uint8_t { other, added, removed };

  [[nodiscard]] Standing standingOf(std::string_view name);
  [[nodiscard]] PeerRow write(const PeerOptions& peer);
  void refresh();

  Context& context_;
  Holds& holds_;
  KnownPeers known_;
  // The orders when the added peers were read last.
  std::int64_t orders_ = -1;
  bool isConfigured_ = false;
  // This transaction has added or removed a peer.
  bool isTouched_ = false;
};

}  // namespace ackbox::store::postgres
