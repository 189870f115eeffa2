#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "store/decisions/known_peers.hpp"
#include "store/sqlite/cache/write_back.hpp"
#include "store/sqlite/context.hpp"
#include "store/sqlite/peers/holds.hpp"
#include "store/store.hpp"

namespace ackbox::store::sqlite {

/// The rows of the configured peers, and of those that were added to the file at run time (`OutboxOptions::addedPeer`).
/// Peers of earlier configurations keep their rows and messages, but are included only with
/// `OutboxOptions::adoptPeers`.
class Peers final : public store::Peers, public UnscopedWriteBack {
public:
  /// `options` are the peers of the store's options: those that are added are kept there, too.
  Peers(Context& context, std::vector<PeerOptions>& options, Holds& holds);

  /// Writes the configuration to the file and reads the keys. In a transaction.
  void configure();
  [[nodiscard]] std::span<const PeerRow> rows() const noexcept override { return known_.rows(); }
  [[nodiscard]] const PeerRow* find(delivery::PeerKey key) const noexcept override { return known_.find(key); }
  [[nodiscard]] const PeerRow* find(std::string_view name) const noexcept { return known_.find(name); }
  void record(const delivery::PeerRecord& record) override;
  [[nodiscard]] std::vector<PeerRow> current() override;
  /// See `Store`; no part of the store has a change pending.
  std::optional<bool> define(const PeerOptions& peer, std::string_view definition);
  PeerRemoval remove(std::string_view name, WaitingMessages waiting);
  [[nodiscard]] std::vector<PeerChange> takeChanges() override { return known_.takeChanges(); }

  void begun(bool othersCommitted) override;
  void committed() noexcept override;
  void forget() noexcept override;

private:
  /// Of a name in the file. `other`: it is unknown, or of a configuration.
  enum class Standing : std::uint8_t { other, added, removed };

  [[nodiscard]] Standing standingOf(std::string_view name);
  void countEach(std::int64_t lone);
  [[nodiscard]] PeerRow write(const PeerOptions& peer);
  /// Reads the peers that were added.
  void refresh();

  Context& context_;
  Holds& holds_;
  Statement upsert_;
  Statement define_;
  Statement remove_;
  Statement selectAddedNow_;
  Statement countDefined_;
  Statement countLive_;
  Statement selectAll_;
  Statement selectAdded_;
  Statement disabling_;
  Statement record_;
  KnownPeers known_;
  // The orders when the added peers were read last.
  std::int64_t orders_ = -1;
  bool isConfigured_ = false;
  // This transaction has added or removed a peer.
  bool isTouched_ = false;
};

}  // namespace ackbox::store::sqlite
