#include "cli/grammar_tree.hpp"

#include <CLI/CLI.hpp>

#include <sstream>

#include "cli/examples.hpp"

namespace ackbox::cli {
namespace {

// CLI11's validator of choices describes itself as `{a,b,c}` after the value's name.
std::vector<std::string> choicesOf(const std::string& typeName) {
  const std::size_t open = typeName.find('{');
  const std::size_t close = typeName.find('}');
  std::vector<std::string> choices;
  if (open == std::string::npos || close == std::string::npos) {
    return choices;
  }
  std::istringstream list(typeName.substr(open + 1, close - open - 1));
  for (std::string choice; std::getline(list, choice, ',');) {
    choices.push_back(choice);
  }
  return choices;
}

OptionEntry entryOf(const CLI::Option& option) {
  OptionEntry entry;
  for (const std::string& name : option.get_snames()) {
    entry.names.push_back("-" + name);
  }
  for (const std::string& name : option.get_lnames()) {
    entry.names.push_back("--" + name);
  }
  entry.positional = option.get_positional() ? option.get_name(true) : std::string();
  entry.help = option.get_description();
  const std::string typeName = option.get_type_name();
  entry.value = option.get_items_expected_max() == 0 ? std::string() : typeName.substr(0, typeName.find(':'));
  entry.choices = choicesOf(typeName);
  entry.required = option.get_required();
  entry.repeats = option.get_items_expected_max() > 1;
  return entry;
}

}  // namespace

std::vector<OptionEntry> optionsOf(const CLI::App& command) {
  std::vector<OptionEntry> entries;
  for (const CLI::Option* option : command.get_options()) {
    entries.push_back(entryOf(*option));
  }
  return entries;
}

std::vector<CommandEntry> commandsOf(const CLI::App& grammar) {
  std::vector<CommandEntry> entries;
  for (const CLI::App* command : grammar.get_subcommands([](const CLI::App*) { return true; })) {
    entries.push_back({command->get_name(), command->get_description(), optionsOf(*command),
                       std::string(exampleOf(command->get_name()))});
  }
  return entries;
}

}  // namespace ackbox::cli
