#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ackbox {

class OutboxManager;

/// The output format of `prometheusText`.
enum class MetricsFormat : std::uint8_t {
  /// Prometheus' text format 0.0.4.
  prometheus,
  /// OpenMetrics 1.0.
  openMetrics,
};

/// The media types of `prometheusText`.
inline constexpr std::string_view kPrometheusContentType = "text/plain; version=0.0.4; charset=utf-8";
inline constexpr std::string_view kOpenMetricsContentType =
    "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The outbox's figures in Prometheus' text format or as OpenMetrics, for an agent's own metrics endpoint: gauges and
/// totals of the file, for each peer where they are known for each, and the time from enqueue to ACK. Names begin with
/// `ackbox_`, units are seconds and bytes. All series exist from the start. Labels are peers and states, never
/// sessions, ids or texts of errors.
///
/// Costs O(peers), whatever the backlog. Throws `Error`, and blocks, as the reads of `OutboxReader` do.
[[nodiscard]] std::string prometheusText(const OutboxManager& manager,
                                         MetricsFormat format = MetricsFormat::prometheus);

}  // namespace ackbox
