#include "serve/config/connections.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <string>

#include "serve/http/places.hpp"
#include "serve/report.hpp"
#include "transport/descriptors.hpp"

namespace ackbox::serve {
namespace {

// Fewer would leave no connection to requests that end at once.
constexpr std::uint64_t kConnectionsLeast = 32;

constexpr Option<ApiConfig> kConnectionRows[] = {
    {"connectionsMax", [](ApiConfig& api) -> OptionSlot { return &api.connectionsMax; }, OptionUnit::count,
     kConnectionsLeast, kOptionMost, "connections to the API at once; fewer if the process may not open as many files"},
    {"streamsMax", [](ApiConfig& api) -> OptionSlot { return &api.streamsMax; }, OptionUnit::count, 0, kOptionMost,
     "streams of frames among them, at most three quarters of them; 0: a half of them"},
};

std::size_t inboxConnectionsOf(const Config& config) {
  return config.inbox && config.inbox->isListening ? config.inbox->server.connectionsMax : 0;
}

/// The sum; the largest number if that is more.
std::size_t sumOf(std::size_t one, std::size_t other) {
  return one + std::min(other, std::numeric_limits<std::size_t>::max() - one);
}

std::size_t acceptedConnectionsOf(const Config& config) {
  return sumOf(config.api.connectionsMax, inboxConnectionsOf(config));
}

}  // namespace

void readConnections(Section& root, ApiConfig& api) {
  const std::span<const Option<ApiConfig>> rows = kConnectionRows;
  root.option(rows, "connectionsMax", api);
  root.option(rows, "streamsMax", api);
  if (const std::size_t most = Places::frameStreamsMost(api.connectionsMax); api.streamsMax > most) {
    root.problem("streams_max", "must be at most three quarters of connections_max, here " + std::to_string(most) +
                                    ", which leaves the others to requests");
  }
}

Connections Connections::within(std::size_t descriptors, const Config& config) {
  const std::size_t wanted = acceptedConnectionsOf(config);
  const std::size_t room = transport::connectionsWithin(descriptors);
  if (wanted <= room) {
    return {config.api.connectionsMax, inboxConnectionsOf(config)};
  }
  const double part = static_cast<double>(room) / static_cast<double>(wanted);
  const auto partOf = [part](std::size_t all) {
    return std::min(all, std::max<std::size_t>(static_cast<std::size_t>(static_cast<double>(all) * part), 1));
  };
  return {partOf(config.api.connectionsMax), partOf(inboxConnectionsOf(config)), true};
}

void raiseDescriptorLimit(const Config& config) {
  transport::raiseDescriptorLimit(sumOf(acceptedConnectionsOf(config), config.sender.connectionsMax));
}

void reportReduced(const Config& config, const Connections& connections, std::size_t streams) {
  if (!connections.isReduced) {
    return;
  }
  const std::string asked = std::to_string(config.api.connectionsMax);
  const std::string api = std::to_string(connections.api);
  const std::string streamed = std::to_string(streams);
  const std::string inbox = std::to_string(connections.inbox);
  const std::array<LogField, 4> fields = {LogField{"connections_max", asked}, LogField{"connections", api},
                                          LogField{"streams", streamed}, LogField{"inbox_connections", inbox}};
  report(config.outbox.log, *systemClock(), LogLevel::warning, "connections-reduced",
         "the process may not open as many files as connections_max needs, so it accepts fewer connections: raise its "
         "hard limit, as with 'ulimit -Hn' or LimitNOFILE of its unit, or lower connections_max",
         fields);
}

}  // namespace ackbox::serve
