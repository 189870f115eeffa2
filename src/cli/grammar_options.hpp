#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <optional>
#include <string>

#include "cli/threshold.hpp"

// Kinds of options, each with the check of its value.

namespace ackbox::cli {

/// Adds an option that takes a duration.
CLI::Option* addDuration(CLI::App& app, const std::string& name, std::chrono::milliseconds& value,
                         const std::string& help);

/// Adds an option that takes an instant, or how long ago it was.
void addInstant(CLI::App& app, const std::string& name, std::optional<std::string>& value, const std::string& help);

/// Adds an option that takes the thresholds of `check` for a warning and for critical.
void addThreshold(CLI::App& app, const std::string& name, Threshold& value, const Measure& measure,
                  const std::string& help, bool isFloor = false);

/// Adds an option that takes the path of a file. Refuses an empty path, for which SQLite would open a temporary file.
template <typename Paths>
CLI::Option* addPath(CLI::App& app, const std::string& name, Paths& paths, const std::string& help) {
  const auto problem = [](const std::string& path) { return path.empty() ? "it is empty: name a file" : ""; };
  return app.add_option(name, paths, help)->check(problem, "", "");
}

}  // namespace ackbox::cli
