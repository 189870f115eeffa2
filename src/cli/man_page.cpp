#include "cli/man_page.hpp"

#include <CLI/CLI.hpp>

#include <sstream>

#include "ackbox/version.hpp"
#include "cli/grammar_tree.hpp"

namespace ackbox::cli {
namespace {

/// The text escaped for roff: none of its characters acts as a command.
std::string roff(std::string_view text) {
  std::string made;
  for (std::size_t index = 0; index < text.size(); ++index) {
    const char character = text[index];
    const bool isLineStart = made.empty() || made.back() == '\n';
    if (isLineStart && (character == '.' || character == '\'')) {
      made += "\\&";
    }
    if (character == '\\') {
      made += "\\e";
    } else if (character == '-') {
      made += "\\-";
    } else if (text.substr(index).starts_with("…")) {
      made += "\\[u2026]";
      index += std::string_view("…").size() - 1;
    } else {
      made += character;
    }
  }
  return made;
}

std::string bold(std::string_view text) {
  return "\\fB" + roff(text) + "\\fR";
}

std::string placeholder(const OptionEntry& option) {
  return "\\fI" + roff(option.positional) + "\\fR" + (option.repeats ? " \\[u2026]" : "");
}

std::string synopsis(const CommandEntry& command) {
  std::string line = ".B ackbox " + roff(command.name) + "\n";
  bool hasOptions = false;
  for (const OptionEntry& option : command.options) {
    if (option.positional.empty()) {
      hasOptions = true;
    } else {
      line += option.required ? placeholder(option) + "\n" : "[" + placeholder(option) + "]\n";
    }
  }
  return line + (hasOptions ? "[\\fIOPTION\\fR \\[u2026]]\n" : "");
}

void writeOption(std::ostream& out, const OptionEntry& option) {
  out << ".TP\n";
  if (option.positional.empty()) {
    const char* separator = "";
    for (const std::string& name : option.names) {
      out << separator << bold(name);
      separator = ", ";
    }
    out << (option.value.empty() ? "" : " \\fI" + roff(option.value) + "\\fR") << '\n';
  } else {
    out << placeholder(option) << '\n';
  }
  out << roff(option.help);
  const char* separator = ": ";
  for (const std::string& choice : option.choices) {
    out << (option.positional.empty() ? separator + roff(choice) : "");
    separator = ", ";
  }
  out << '\n';
}

}  // namespace

std::string manPage(const CLI::App& grammar) {
  std::ostringstream out;
  const std::vector<CommandEntry> commands = commandsOf(grammar);
  out << ".TH ACKBOX 1 \"\" \"ackbox " << roff(kVersion) << "\" \"User Commands\"\n.SH NAME\nackbox \\- "
      << roff(grammar.get_description()) << "\n.SH SYNOPSIS\n";
  const char* lineBreak = "";
  for (const CommandEntry& command : commands) {
    out << lineBreak << synopsis(command);
    lineBreak = ".br\n";
  }
  out << ".SH COMMANDS\n";
  for (const CommandEntry& command : commands) {
    out << ".SS " << roff(command.name) << '\n' << roff(command.help) << ".\n";
    for (const OptionEntry& option : command.options) {
      writeOption(out, option);
    }
    if (!command.example.empty()) {
      out << ".PP\nExample:\n.PP\n.RS\n.nf\n" << roff(command.example) << "\n.fi\n.RE\n";
    }
  }
  out << ".SH NOTES\n.nf\n" << roff(grammar.get_footer()) << "\n.fi\n";
  return out.str();
}

}  // namespace ackbox::cli
