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
#include "ackbox/visible.hpp"
#include "cli/commands.hpp"
#include "cli/completion.hpp"
#include "cli/exit_code.hpp"
#include "cli/file_steps.hpp"
#include "cli/grammar.hpp"
#include "cli/live_rows.hpp"
#include "cli/man_page.hpp"
#include "cli/monitoring.hpp"
#include "location/location.hpp"

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
                                                         {"resend", resend},
                                                         {"discard", discard},
                                                         {"mark-failed", markFailed},
                                                         {"pause", pause},
                                                         {"resume", resume},
                                                         {"unblock", unblock},
                                                         {"add-peer", addPeer},
                                                         {"remove-peer", removePeer},
                                                         {"subscribe", subscribe},
                                                         {"unsubscribe", unsubscribe},
                                                         {"subscriptions", subscriptions},
                                                         {"vacuum", vacuum},
                                                         {"backup", backup},
                                                         {"restore", restore},
                                                         {"check", check},
                                                         {"doctor", doctor},
                                                         {"migrate", migrate},
                                                         {"move", move},
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
  return !word.empty() &&
         std::none_of(commands.begin(), commands.end(), [&](const CLI::App* one) { return one->get_name() == word; });
}

/// The first word that is not an option; empty if all words are options.
std::string_view commandWord(const World& world) {
  const auto word = std::find_if(world.arguments.begin(), world.arguments.end(),
                                 [](const std::string& one) { return !one.starts_with('-'); });
  return word == world.arguments.end() ? std::string_view() : std::string_view(*word);
}

/// Prints the line of `check` that says why the file cannot be examined, without figures.
int healthWithout(const World& world, Health health, std::string_view why, bool json) {
  const int code = static_cast<int>(health);
  if (json) {
    world.out << json::Line()
                     .add("state", nameOf(health))
                     .add("exit_code", code)
                     .raw("problems", json::list({std::string(why)}))
                     .text()
              << '\n';
  } else {
    world.out << visible(monitoringLine(health, why)) << '\n';
  }
  return code;
}

int usageProblem(const World& world, std::string_view command, const std::string& why) {
  const auto& words = world.arguments;
  const bool isJson = std::find(words.begin(), words.end(), "--json") != words.end();
  if (command == "check") {
    return healthWithout(world, Health::unknown, why, isJson);
  }
  if (isJson) {
    world.err << json::Line().add("error", why).add("exit_code", static_cast<int>(kUsage)).text() << '\n';
  } else {
    world.err << visible(why) << "\nRun with --help for more information.\n";
  }
  return kUsage;
}

/// Prints the help, the version, or what is wrong with the command line.
int parseProblem(const World& world, const CLI::App& grammar, const CLI::ParseError& problem) {
  const std::string word(commandWord(world));
  if (isUnknownCommand(grammar, word)) {
    return usageProblem(world, word, "there is no command '" + word + "'");
  }
  if (world.arguments.empty()) {
    world.err << overview();
    return kUsage;
  }
  if (problem.get_exit_code() != 0) {
    return usageProblem(world, word, problem.what());
  }
  std::ostringstream out;
  std::ostringstream err;
  grammar.exit(problem, out, err);
  world.out << out.str();
  return kDone;
}

/// A command that is for files alone, and what to do with a database instead.
struct ForFiles {
  std::string_view command;
  const char* instead;
};

constexpr std::array kForFiles = std::to_array<ForFiles>(
    {{"vacuum", "the server's autovacuum frees its pages, and VACUUM FULL gives them back"},
     {"backup", "back it up with pg_dump, or with the server's own means"},
     {"doctor", "ackbox check says whether the outbox is well, and ackbox verify whether its rows are"},
     {"move", "ackbox export URL --state pending | ackbox enqueue OTHER takes what is pending elsewhere"}});

/// Why the file cannot be read; empty if no reason was found.
std::string fileProblem(const Arguments& arguments) {
  const std::filesystem::path& file = arguments.file;
  if (location::isUrl(file)) {
    const auto* const found = std::ranges::find(kForFiles, arguments.command, &ForFiles::command);
    return found == kForFiles.end() ? std::string()
                                    : "is a database, and " + arguments.command + " is for files: " + found->instead;
  }
  std::error_code failure;
  const std::filesystem::file_status status = std::filesystem::status(file, failure);
  if (status.type() == std::filesystem::file_type::not_found) {
    const std::string commands = howToPutBack(file);
    return commands.empty() ? "there is no such file"
                            : "there is no such file, but one that ackbox restore has moved; if that was interrupted, "
                              "put it back: " +
                                  commands;
  }
  if (failure) {
    return failure.message();
  }
  if (std::filesystem::is_directory(status)) {
    return "is a directory";
  }
  return access(file.c_str(), R_OK) == 0 ? std::string() : std::generic_category().message(errno);
}

/// An error of the library in this tool's words, prefixed with the file's name.
std::string textOf(const Error& error, const Arguments& arguments) {
  const std::string file = location::shown(arguments.file) + ": ";
  if (error.code() == Errc::schemaMissing) {
    return file + (location::isUrl(arguments.file)
                       ? "no outbox in this database: ackbox serve makes one, and ackbox move brings one"
                       : "no outbox with the prefix " + arguments.prefix + " in this file; see --prefix");
  }
  const std::string_view what = error.what();
  return what.starts_with(file) ? std::string(what) : file + std::string(what);
}

/// Reports why a command cannot run; `check` reports it on standard output, which monitoring reads.
int failure(Console& console, const Arguments& arguments, const std::string& why, bool isDamage = false) {
  if (arguments.command == "check") {
    return isDamage ? healthWithout(console.world(), Health::critical, why + "; " + damageAdvice(arguments.file),
                                    console.json())
                    : healthWithout(console.world(), Health::unknown, why, console.json());
  }
  return console.fail(kCannot, why);
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
  if (arguments.command == "init") {
    return init(console, arguments);
  }
  if (arguments.command == "serve" || arguments.command == "health") {
    const auto& run = arguments.command == "serve" ? console.world().serve : console.world().health;
    return run ? run(console, arguments) : console.fail(kUsage, "this program has no daemon");
  }
  const auto* const command = std::find_if(kCommands.begin(), kCommands.end(),
                                           [&](const Command& one) { return one.name == arguments.command; });
  if (const std::string problem = fileProblem(arguments); !problem.empty()) {
    return failure(console, arguments, location::shown(arguments.file) + ": " + problem);
  }
  if (arguments.command == "backup" && location::isUrl(arguments.to)) {
    return console.fail(kUsage, location::shown(arguments.to) +
                                    ": is a database, and a copy is a file: ackbox move takes an outbox to a database");
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
    return failure(console, arguments, textOf(error, arguments), error.code() == Errc::databaseCorrupt);
  } catch (const std::exception& exception) {
    return failure(console, arguments, exception.what());
  }
}

}  // namespace ackbox::cli
