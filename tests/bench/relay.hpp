#pragma once

#include <filesystem>

#include "bench/settings.hpp"

namespace ackbox::bench {

/// What a careful engineer writes instead of a library, in two processes: a table with an index for the next row; a
/// loop that reads it, posts it over one kept connection, and deletes it in a FULL transaction when it is answered; a
/// receiver that marks the message and writes its effect in one FULL transaction before it answers. Nothing is shared
/// among messages, neither a commit nor a request.
struct RelayPace {
  /// Delivered, from the query to the end of the deletion. Rows are there beforehand and cost nothing.
  double perSecond = 0;
  double senderSyncsPerMessage = 0;
};

/// Throws `std::runtime_error` unless every deletion was synced and every effect is there once and in order.
[[nodiscard]] RelayPace relayed(const Settings& settings);

/// The other process: prints its port, serves one connection, and ends with it.
int runRelayReceiver(const std::filesystem::path& file);

}  // namespace ackbox::bench
