#pragma once

#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's own
class App;
}

namespace ackbox::cli {

/// An option or positional argument of the grammar.
struct OptionEntry {
  /// `--state`, `-h`; empty for a positional argument.
  std::vector<std::string> names;
  /// The name of a positional argument: `FILE`.
  std::string positional;
  std::string help;
  /// `NAME`; empty for a flag.
  std::string value;
  /// The permitted values; empty if any value is.
  std::vector<std::string> choices;
  bool required = false;
  bool repeats = false;
};

struct CommandEntry {
  std::string name;
  std::string help;
  std::vector<OptionEntry> options;
  /// An example command line; empty if there is no example.
  std::string example;
};

/// The subcommands in the order of their definition; the man page and the completions are generated from them.
[[nodiscard]] std::vector<CommandEntry> commandsOf(const CLI::App& grammar);
[[nodiscard]] std::vector<OptionEntry> optionsOf(const CLI::App& command);

}  // namespace ackbox::cli
