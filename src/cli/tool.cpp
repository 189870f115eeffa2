#include "cli/tool.hpp"

#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <sstream>
#include <string_view>

#include "ackbox/error.hpp"
#include "cli/commands.hpp"
#include "cli/completion.hpp"
#include "cli/exit_code.hpp"
#include "cli/grammar.hpp"
#include "cli/man_page.hpp"
#include "cli/text.hpp"

namespace ackbox::cli {
namespace {

struct Command {
  std::string_view name;
  int (*run)(Console&, const Arguments&);
};

constexpr std::array kCommands = std::to_array<Command>({{"stats", stats},
                                                         {"top", top},
                                                         {"peers", peers},
                                                         {"sessions", sessions},
                                                         {"blocked", blocked},
                                                         {"list", list},
                                                         {"show", show},
                                                         {"explain", explain},
                                                         {"verify", verify},
                                                         {"export", exportMessages},
                                                         {"enqueue", enqueue},
                                                         {"retry", retry},
                                                         {"discard", discard},
                                                         {"mark-failed", markFailed},
                                                         {"pause", pause},
                                                         {"resume", resume},
                                                         {"unblock", unblock},
                                                         {"vacuum", vacuum},
                                                         {"senders", senders},
                                                         {"forget", forget},
                                                         {"inbox", inbox},
                                                         {"inbox-show", inboxShow},
                                                         {"inbox-explain", inboxExplain},
                                                         {"inbox-retry", inboxRetry},
                                                         {"inbox-discard", inboxDiscard},
                                                         {"repair", repair}});

bool isUnknownCommand(const CLI::App& grammar, const std::string& word) {
  const auto commands = grammar.get_subcommands([](const CLI::App*) { return true; });
  return !word.starts_with('-') &&
         std::none_of(commands.begin(), commands.end(), [&](const CLI::App* one) { return one->get_name() == word; });
}

/// Help and version, or what is wrong with the command line.
int parseProblem(const World& world, const CLI::App& grammar, const CLI::ParseError& problem) {
  if (!world.arguments.empty() && isUnknownCommand(grammar, world.arguments.front())) {
    world.err << "there is no command '" << visible(world.arguments.front())
              << "'\nRun with --help for more information.\n";
    return kUsage;
  }
  std::ostringstream out;
  std::ostringstream err;
  const bool isProblem = grammar.exit(problem, out, err) != 0;
  world.out << out.str();
  world.err << err.str();
  return isProblem ? kUsage : kDone;
}

/// Why the file cannot be read; empty: nothing is known against it.
std::string fileProblem(const std::filesystem::path& file) {
  std::error_code failure;
  const std::filesystem::file_status status = std::filesystem::status(file, failure);
  if (status.type() == std::filesystem::file_type::not_found) {
    return "there is no such file";
  }
  if (failure) {
    return failure.message();
  }
  if (std::filesystem::is_directory(status)) {
    return "is a directory";
  }
  return access(file.c_str(), R_OK) == 0 ? std::string() : std::generic_category().message(errno);
}

/// An error of the library in the words of this tool, after the file's name.
std::string textOf(const Error& error, const Arguments& arguments) {
  const std::string file = arguments.file.string() + ": ";
  if (error.code() == Errc::schemaMissing) {
    return file + "no outbox with the prefix " + arguments.prefix + " in this file; see --prefix";
  }
  const std::string_view what = error.what();
  return what.starts_with(file) ? std::string(what) : file + std::string(what);
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
  if (arguments.command == "serve" || arguments.command == "health") {
    const auto& run = arguments.command == "serve" ? console.world().serve : console.world().health;
    return run ? run(console, arguments) : console.fail(kUsage, "this program has no daemon");
  }
  const auto* const command = std::find_if(kCommands.begin(), kCommands.end(),
                                           [&](const Command& one) { return one.name == arguments.command; });
  if (const std::string problem = fileProblem(arguments.file); !problem.empty()) {
    return console.fail(kCannot, arguments.file.string() + ": " + problem);
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
    return console.fail(kCannot, textOf(error, arguments));
  } catch (const std::exception& exception) {
    return console.fail(kCannot, exception.what());
  }
}

}  // namespace ackbox::cli
