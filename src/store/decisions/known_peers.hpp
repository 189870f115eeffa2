#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ackbox/options.hpp"
#include "delivery/types.hpp"
#include "store/types.hpp"

namespace ackbox::store {

/// The peers of this process's configuration, or only `default`; without those that it adopts from the store.
[[nodiscard]] std::vector<PeerOptions> configuredPeers(const OutboxOptions& options);

/// A peer that was added to a store at run time, or was removed from it.
struct AddedPeer {
  PeerRow row;
  bool isRemoved = false;
};

/// The peers of a process, of those that its store knows: those of its configuration, those that it adopts, and those
/// that were added at run time, of which it reads the definitions (`OutboxOptions::addedPeer`).
///
/// Thread-safety: none.
class KnownPeers {
public:
  /// `peers` are those of `options`: those that are added are kept there, too. Both must outlive it.
  KnownPeers(const OutboxOptions& options, std::vector<PeerOptions>& peers);

  /// A peer of the configuration, as it is stored.
  void configure(PeerRow row);
  /// A peer of an earlier configuration, which was not removed.
  void adopt(PeerRow row);
  /// `rows`: all that have a definition, or are removed.
  void refresh(std::vector<AddedPeer> rows);

  [[nodiscard]] bool isConfigured(std::string_view name) const { return configured_.contains(name); }
  [[nodiscard]] std::span<const PeerRow> rows() const noexcept { return rows_; }
  [[nodiscard]] const PeerRow* find(delivery::PeerKey key) const noexcept;
  [[nodiscard]] const PeerRow* find(std::string_view name) const noexcept;
  /// The changes since the last call: of each peer the last one, unless the peer is again as it was then, because a
  /// transaction was undone.
  [[nodiscard]] std::vector<PeerChange> takeChanges();

private:
  struct Added {
    std::string definition;
    // Where `peers_` has it.
    std::size_t place = 0;
  };

  void add(PeerRow row);
  void see(PeerRow row);
  void drop(const std::string& name);
  /// What this process makes of a peer's definition.
  [[nodiscard]] PeerChange used(PeerRow row) const;
  void place(const PeerChange& change);

  const OutboxOptions& options_;
  std::vector<PeerOptions>& peers_;
  std::vector<PeerRow> rows_;
  // Indexes into `rows_`.
  std::map<std::string, std::size_t, std::less<>> byName_;
  std::set<std::string, std::less<>> configured_;
  // The added peers, as they were read last.
  std::map<std::string, Added, std::less<>> added_;
  std::vector<PeerChange> changes_;
  // The definitions of the added peers as the last call has reported them; of an adopted peer it is empty.
  std::map<std::string, std::string, std::less<>> reported_;
};

}  // namespace ackbox::store
