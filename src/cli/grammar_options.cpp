#include "cli/grammar_options.hpp"

#include <CLI/CLI.hpp>

#include "base/duration.hpp"
#include "base/timestamp.hpp"

namespace ackbox::cli {

CLI::Option* addDuration(CLI::App& app, const std::string& name, std::chrono::milliseconds& value,
                         const std::string& help) {
  return app
      .add_option_function<std::string>(
          name,
          [&value](const std::string& text) {
            const auto parsed = parseDuration(text);
            if (!parsed) {
              throw CLI::ValidationError("'" + text + "' is no duration, such as 500ms, 10s, 5m, 2h or 7d");
            }
            value = *parsed;
          },
          help)
      ->type_name("DURATION");
}

void addInstant(CLI::App& app, const std::string& name, std::optional<std::string>& value, const std::string& help) {
  app.add_option(name, value, help)
      ->type_name("TIME")
      ->check(
          [](const std::string& text) {
            return parseTimestamp(text) || parseDuration(text)
                       ? std::string()
                       : "'" + text + "' is no time: write 2h for two hours ago, or 2026-01-31T12:00:00Z";
          },
          "", "");
}

void addThreshold(CLI::App& app, const std::string& name, Threshold& value, const Measure& measure,
                  const std::string& help, bool isFloor) {
  app.add_option_function<std::string>(
         name,
         [&value, &measure, isFloor](const std::string& text) {
           const auto parsed = parseThreshold(text, measure);
           if (!parsed) {
             throw CLI::ValidationError("'" + text + "' is no WARNING,CRITICAL: each a value or off");
           }
           const auto& [warning, critical] = *parsed;
           if (warning && critical && (isFloor ? *critical > *warning : *critical < *warning)) {
             throw CLI::ValidationError("'" + text + "' never warns: CRITICAL comes before WARNING");
           }
           value = *parsed;
         },
         help)
      ->type_name("WARNING,CRITICAL");
}

}  // namespace ackbox::cli
