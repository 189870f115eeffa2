#include "cli/completion.hpp"

#include <CLI/CLI.hpp>

#include <sstream>

#include "cli/grammar_tree.hpp"
#include "cli/shell_word.hpp"

namespace ackbox::cli {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : " ") + word;
  }
  return text;
}

/// The option names of a command, and the permitted values of its first positional argument, if they are limited.
std::vector<std::string> wordsOf(const CommandEntry& command) {
  std::vector<std::string> words;
  for (const OptionEntry& option : command.options) {
    words.insert(words.end(), option.names.begin(), option.names.end());
    if (!option.positional.empty()) {
      words.insert(words.end(), option.choices.begin(), option.choices.end());
    }
  }
  return words;
}

bool takesFile(const CommandEntry& command) {
  for (const OptionEntry& option : command.options) {
    if (option.positional == "FILE") {
      return true;
    }
  }
  return false;
}

std::string bash(const std::vector<CommandEntry>& commands, const std::vector<OptionEntry>& globals) {
  std::ostringstream out;
  std::vector<std::string> names;
  names.reserve(commands.size());
  for (const CommandEntry& command : commands) {
    names.push_back(command.name);
  }
  for (const OptionEntry& option : globals) {
    names.insert(names.end(), option.names.begin(), option.names.end());
  }
  out << "# bash completion for ackbox; made by `ackbox completion bash`\n_ackbox() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} words=\n  COMPREPLY=()\n"
         "  if ((COMP_CWORD == 1)); then\n    mapfile -t COMPREPLY < <(compgen -W "
      << singleQuoted(joined(names))
      << " -- \"$current\")\n    return\n  fi\n  case \"${COMP_WORDS[1]} $previous\" in\n";
  for (const CommandEntry& command : commands) {
    for (const OptionEntry& option : command.options) {
      if (option.value.empty() || option.names.empty()) {
        continue;
      }
      out << "    " << singleQuoted(command.name + " " + option.names.back()) << ") ";
      if (!option.choices.empty()) {
        out << "words=" << singleQuoted(joined(option.choices)) << " ;;\n";
      } else {
        out << (option.value == "PATH" ? "compopt -o default; return ;;\n" : "return ;;\n");
      }
    }
  }
  out << "  esac\n  if [[ -z $words ]]; then\n    case \"${COMP_WORDS[1]}\" in\n";
  for (const CommandEntry& command : commands) {
    out << "      " << command.name << ") words=" << singleQuoted(joined(wordsOf(command))) << " ;;\n";
  }
  out << "    esac\n    [[ $current == -* ]] || compopt -o default 2>/dev/null\n  fi\n"
         "  if [[ $current == -* || \" completion \" == *\" ${COMP_WORDS[1]} \"* || $previous == --* ]]; then\n"
         "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n  fi\n}\ncomplete -F _ackbox ackbox\n";
  return out.str();
}

/// `text` escaped for `[…]` in zsh's _arguments.
std::string zshHelp(const std::string& text) {
  std::string made;
  for (const char character : text) {
    if (character == '[' || character == ']' || character == ':' || character == '\\') {
      made += '\\';
    }
    made += character;
  }
  return made;
}

std::string zshAction(const OptionEntry& option) {
  if (!option.choices.empty()) {
    return "(" + joined(option.choices) + ")";
  }
  return option.value == "PATH" || option.positional == "FILE" ? "_files" : "";
}

std::string zsh(const std::vector<CommandEntry>& commands) {
  std::ostringstream out;
  out << "#compdef ackbox\n# zsh completion for ackbox; made by `ackbox completion zsh`\n_ackbox() {\n"
         "  local -a commands=(\n";
  for (const CommandEntry& command : commands) {
    out << "    " << singleQuoted(command.name + ":" + zshHelp(command.help)) << '\n';
  }
  out << "  )\n  if ((CURRENT == 2)); then\n    _describe command commands\n    return\n  fi\n"
         "  local command=$words[2]\n  shift words\n  ((CURRENT--))\n  case $command in\n";
  for (const CommandEntry& command : commands) {
    out << "    " << command.name << ")\n      _arguments";
    for (const OptionEntry& option : command.options) {
      for (const std::string& name : option.names) {
        out << " \\\n        "
            << singleQuoted(name + "[" + zshHelp(option.help) + "]" +
                            (option.value.empty() ? std::string() : ":" + option.value + ":" + zshAction(option)));
      }
      if (!option.positional.empty()) {
        out << " \\\n        "
            << singleQuoted((option.repeats ? "*:" : ":") + option.positional + ":" + zshAction(option));
      }
    }
    out << " ;;\n";
  }
  out << "  esac\n}\n_ackbox \"$@\"\n";
  return out.str();
}

std::string fish(const std::vector<CommandEntry>& commands) {
  std::ostringstream out;
  out << "# fish completion for ackbox; made by `ackbox completion fish`\ncomplete -c ackbox -f\n";
  for (const CommandEntry& command : commands) {
    out << "complete -c ackbox -n __fish_use_subcommand -a " << command.name << " -d " << singleQuoted(command.help)
        << '\n';
    const std::string here = "complete -c ackbox -n " + singleQuoted("__fish_seen_subcommand_from " + command.name);
    if (takesFile(command)) {
      out << here << " -F\n";
    }
    for (const OptionEntry& option : command.options) {
      if (option.names.empty()) {
        out << (option.choices.empty() ? std::string() : here + " -a " + singleQuoted(joined(option.choices)) + "\n");
        continue;
      }
      out << here << " -l " << option.names.back().substr(2) << " -d " << singleQuoted(option.help);
      if (!option.value.empty()) {
        out << (option.value == "PATH" ? " -rF" : " -x");
        out << (option.choices.empty() ? std::string() : " -a " + singleQuoted(joined(option.choices)));
      }
      out << '\n';
    }
  }
  return out.str();
}

}  // namespace

std::string completionScript(const CLI::App& grammar, const std::string& shell) {
  const std::vector<CommandEntry> commands = commandsOf(grammar);
  if (shell == "bash") {
    return bash(commands, optionsOf(grammar));
  }
  return shell == "zsh" ? zsh(commands) : fish(commands);
}

}  // namespace ackbox::cli
