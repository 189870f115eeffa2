#pragma once

#include <span>
#include <string_view>

#include "bench/measurement.hpp"
#include "bench/settings.hpp"

namespace ackbox::bench {

/// Something that an agent does with an outbox, measured beside what it would be without one.
struct Operation {
  std::string_view name;
  std::string_view about;
  /// One run. Throws when something is wrong with what was measured, so that no figure of a broken run is printed.
  Measurement (*run)(const Settings& settings);
};

[[nodiscard]] std::span<const Operation> operations();

[[nodiscard]] Measurement enqueueSync(const Settings& settings);
[[nodiscard]] Measurement enqueueSyncSlowDisk(const Settings& settings);
[[nodiscard]] Measurement enqueueAsync(const Settings& settings);
[[nodiscard]] Measurement enqueueBatch(const Settings& settings);
[[nodiscard]] Measurement rowLife(const Settings& settings);
[[nodiscard]] Measurement rowLifeAtScale(const Settings& settings);
[[nodiscard]] Measurement endToEnd(const Settings& settings);
[[nodiscard]] Measurement endToEndSlowDisk(const Settings& settings);
[[nodiscard]] Measurement batchSize(const Settings& settings);
[[nodiscard]] Measurement load(const Settings& settings);
[[nodiscard]] Measurement signing(const Settings& settings);
[[nodiscard]] Measurement tls(const Settings& settings);
[[nodiscard]] Measurement logSink(const Settings& settings);
[[nodiscard]] Measurement loneMessageLatency(const Settings& settings);
[[nodiscard]] Measurement idle(const Settings& settings);
[[nodiscard]] Measurement claim100(const Settings& settings);
[[nodiscard]] Measurement settle100(const Settings& settings);
[[nodiscard]] Measurement enqueueOne(const Settings& settings);
[[nodiscard]] Measurement getStats(const Settings& settings);
[[nodiscard]] Measurement explain(const Settings& settings);
[[nodiscard]] Measurement startUp(const Settings& settings);
[[nodiscard]] Measurement memory(const Settings& settings);
[[nodiscard]] Measurement deferred(const Settings& settings);
[[nodiscard]] Measurement serveEnqueue(const Settings& settings);
[[nodiscard]] Measurement servePush(const Settings& settings);
[[nodiscard]] Measurement servePull(const Settings& settings);
[[nodiscard]] Measurement serveHandOver(const Settings& settings);
[[nodiscard]] Measurement serveMemory(const Settings& settings);
[[nodiscard]] Measurement serveViews(const Settings& settings);
[[nodiscard]] Measurement postgresEndToEnd(const Settings& settings);
[[nodiscard]] Measurement postgresSessions(const Settings& settings);
[[nodiscard]] Measurement postgresReplicas(const Settings& settings);

}  // namespace ackbox::bench
