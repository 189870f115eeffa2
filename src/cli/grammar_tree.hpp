#pragma once

#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's own
class App;
}

namespace ackbox::cli {

/// An option or positional argument as the grammar has it.
struct OptionEntry {
  /// `--state`, `-h`; empty for a positional argument.
  std::vector<std::string> names;
  /// Of a positional argument: `FILE`.
  std::string positional;
  std::string help;
  /// `NAME`; empty for a flag.
  std::string value;
  /// What may be said, if only these may.
  std::vector<std::string> choices;
  bool required = false;
  bool repeats = false;
};

struct CommandEntry {
  std::string name;
  std::string help;
  std::vector<OptionEntry> options;
  /// A command line with it; empty if it has no example.
  std::string example;
};

/// The subcommands in the order of their making; what the man page and the completions are made of.
[[nodiscard]] std::vector<CommandEntry> commandsOf(const CLI::App& grammar);
[[nodiscard]] std::vector<OptionEntry> optionsOf(const CLI::App& command);

}  // namespace ackbox::cli
