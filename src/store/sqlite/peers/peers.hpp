#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "store/sqlite/cache/write_back.hpp"
#include "store/sqlite/context.hpp"
#include "store/sqlite/peers/holds.hpp"
#include "store/store.hpp"

namespace ackbox::store::sqlite {

/// The peers of this process's configuration, or only `default`; without those that it adopts from the file.
[[nodiscard]] std::vector<PeerOptions> configuredPeers(const OutboxOptions& options);

/// The rows of the configured peers, and of those that were added to the file at run time (`OutboxOptions::addedPeer`).
/// Peers of earlier configurations keep their rows and messages, but are included only with
/// `OutboxOptions::adoptPeers`.
class Peers final : public store::Peers, public UnscopedWriteBack {
public:
  /// `options` are the peers of the store's options: those that are added are kept there, too.
  Peers(Context& context, std::vector<PeerOptions>& options, Holds& holds);

  /// Writes the configuration to the file and reads the keys. In a transaction.
  void configure();
  [[nodiscard]] std::span<const PeerRow> rows() const noexcept override { return rows_; }
  [[nodiscard]] const PeerRow* find(delivery::PeerKey key) const noexcept override;
  [[nodiscard]] const PeerRow* find(std::string_view name) const noexcept;
  void record(const delivery::PeerRecord& record) override;
  [[nodiscard]] std::vector<PeerRow> current() override;
  /// See `Store`; no part of the store has a change pending.
  std::optional<bool> define(const PeerOptions& peer, std::string_view definition);
  PeerRemoval remove(std::string_view name, WaitingMessages waiting);
  [[nodiscard]] std::vector<PeerChange> takeChanges() override;

  void begun(bool othersCommitted) override;
  void committed() noexcept override;
  void forget() noexcept override;

private:
  struct Added {
    std::string definition;
    // Where `options_` has it.
    std::size_t place = 0;
  };

  /// Of a name in the file. `other`: it is unknown, or of a configuration.
  enum class Standing : std::uint8_t { other, added, removed };

  [[nodiscard]] Standing standingOf(std::string_view name);
  void countEach(std::int64_t lone);
  void add(PeerRow row);
  [[nodiscard]] PeerRow write(const PeerOptions& peer);
  /// Reads the peers that were added.
  void refresh();
  void see(PeerRow row);
  void drop(const std::string& name);
  /// What this process makes of a peer's definition.
  [[nodiscard]] PeerChange used(PeerRow row) const;
  void place(const PeerChange& change);

  Context& context_;
  std::vector<PeerOptions>& options_;
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
  std::vector<PeerRow> rows_;
  // Indexes into `rows_`.
  std::map<std::string, std::size_t, std::less<>> byName_;
  std::set<std::string, std::less<>> configured_;
  // The added peers, as they were read last.
  std::map<std::string, Added, std::less<>> added_;
  std::vector<PeerChange> changes_;
  // The orders when the added peers were read last.
  std::int64_t orders_ = -1;
  bool isConfigured_ = false;
  // This transaction has added or removed a peer.
  bool isTouched_ = false;
};

/// `text` cut to the length of a stored error, between two UTF-8 characters.
[[nodiscard]] std::string_view truncatedError(std::string_view text, std::size_t bytesMax = 1'000) noexcept;

}  // namespace ackbox::store::sqlite
