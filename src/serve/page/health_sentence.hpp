#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ackbox/stats.hpp"
#include "cli/peer_view.hpp"

namespace ackbox::serve::page {

/// How an outbox is, in one sentence.
struct HealthSentence {
  /// `ok`, `warning`, `problem`: the colour.
  std::string_view level = "ok";
  std::string text = {};
  /// The view that says more; empty: none.
  std::string_view view = {};
};

/// What matters most comes first: a peer that takes nothing, then dead letters, then what waits.
[[nodiscard]] HealthSentence healthOf(const Stats& stats, const std::vector<cli::PeerFigures>& peers,
                                      std::size_t blockedSessions, WallTime now);

}  // namespace ackbox::serve::page
