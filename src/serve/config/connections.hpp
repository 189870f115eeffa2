#pragma once

#include <cstddef>

#include "serve/config/config.hpp"
#include "serve/config/section.hpp"

namespace ackbox::serve {

/// Reads the limits of the API's connections.
void readConnections(Section& root, ApiConfig& api);

/// The limit of connections for each listener.
struct Connections {
  std::size_t api = 0;
  std::size_t inbox = 0;
  /// The process may not open as many descriptors as the configuration asks for.
  bool isReduced = false;

  /// The limits of `config` if `descriptors` are enough for them. Otherwise each listener has its part, so that peers
  /// that use up one limit do not take connections from the other.
  [[nodiscard]] static Connections within(std::size_t descriptors, const Config& config);
};

/// Raises the process's limit of descriptors to what the connections of `config` need, in both directions, as far as
/// the hard limit allows.
void raiseDescriptorLimit(const Config& config);

/// Reports limits that are lower than configured.
void reportReduced(const Config& config, const Connections& connections, std::size_t streams);

}  // namespace ackbox::serve
