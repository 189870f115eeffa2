#pragma once

#include <string>
#include <string_view>

namespace ackbox::cli {

/// The exit statuses of `ackbox check`: those of the Monitoring Plugins, which Nagios, Icinga, Sensu and others read.
/// Never renumber.
enum class Health : int { ok = 0, warning = 1, critical = 2, unknown = 3 };

/// `ok`, `warning`, …
[[nodiscard]] std::string_view nameOf(Health health) noexcept;

/// `OUTBOX OK - text | performance`.
[[nodiscard]] std::string monitoringLine(Health health, std::string_view text, std::string_view performance = {});

}  // namespace ackbox::cli
