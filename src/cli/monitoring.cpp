#include "cli/monitoring.hpp"

#include <algorithm>
#include <cctype>

namespace ackbox::cli {

std::string_view nameOf(Health health) noexcept {
  switch (health) {
    case Health::ok:
      return "ok";
    case Health::warning:
      return "warning";
    case Health::critical:
      return "critical";
    case Health::unknown:
      break;
  }
  return "unknown";
}

std::string monitoringLine(Health health, std::string_view text, std::string_view performance) {
  std::string name(nameOf(health));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
  // A vertical bar would begin the performance data.
  std::string said(text);
  std::replace(said.begin(), said.end(), '|', '/');
  return "OUTBOX " + name + " - " + said + (performance.empty() ? "" : " | " + std::string(performance));
}

}  // namespace ackbox::cli
