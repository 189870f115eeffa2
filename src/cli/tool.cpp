#include "cli/tool.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <sstream>
#include <string_view>

#include "ackbox/error.hpp"
#include "cli/commands.hpp"
#include "cli/completion.hpp"
#include "cli/exit_code.hpp"
#include "cli/grammar.hpp"
#include "cli/man_page.hpp"

namespace ackbox::cli {
namespace {

struct Command {
  std::string_view name;
  int (*run)(Console&, const Arguments&);
};

constexpr std::array kCommands = std::to_array<Command>({{"stats", stats},     {"top", top},
                                                         {"peers", peers},     {"sessions", sessions},
                                                         {"blocked", blocked}, {"list", list},
                                                         {"show", show},       {"explain", explain},
                                                         {"verify", verify},   {"export", exportMessages},
                                                         {"enqueue", enqueue}, {"retry", retry},
                                                         {"discard", discard}, {"mark-failed", markFailed},
                                                         {"pause", pause},     {"resume", resume},
                                                         {"unblock", unblock}, {"vacuum", vacuum},
                                                         {"senders", senders}, {"forget", forget},
                                                         {"repair", repair}});

/// Help and version, or what is wrong with the command line.
int parseProblem(const World& world, const CLI::App& grammar, const CLI::ParseError& problem) {
  std::ostringstream out;
  std::ostringstream err;
  const bool isProblem = grammar.exit(problem, out, err) != 0;
  world.out << out.str();
  world.err << err.str();
  return isProblem ? kUsage : kDone;
}

int runCommand(Console& console, const CLI::App& grammar, const Arguments& arguments) {
  if (arguments.command == "completion") {
    console.world().out << completionScript(grammar, arguments.shell);
    return kDone;
  }
  if (arguments.command == "man") {
    console.world().out << manPage(grammar);
    return kDone;
  }
  const auto* const command = std::find_if(kCommands.begin(), kCommands.end(),
                                           [&](const Command& one) { return one.name == arguments.command; });
  if (!std::filesystem::exists(arguments.file)) {
    return console.fail(kCannot, arguments.file.string() + ": there is no such file");
  }
  return command == kCommands.end() ? kUsage : command->run(console, arguments);
}

int flushed(Console& console, int code) {
  console.world().out.flush();
  return console.world().out.good() ? code : console.fail(kCannot, "cannot write the output");
}

}  // namespace

int run(const World& world) {
  Arguments arguments;
  const std::shared_ptr<CLI::App> grammar = makeGrammar(arguments);
  try {
    std::vector<std::string> reversed(world.arguments.rbegin(), world.arguments.rend());
    grammar->parse(std::move(reversed));
    arguments.command = grammar->get_subcommands().front()->get_name();
  } catch (const CLI::ParseError& problem) {
    return parseProblem(world, *grammar, problem);
  }
  Console console(world, arguments);
  try {
    return flushed(console, runCommand(console, *grammar, arguments));
  } catch (const Error& error) {
    return console.fail(kCannot, arguments.file.string() + ": " + error.what());
  } catch (const std::exception& exception) {
    return console.fail(kCannot, exception.what());
  }
}

}  // namespace ackbox::cli
