#include "serve/command.hpp"

#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ackbox/error.hpp"
#include "ackbox/http_sender.hpp"
#include "cli/arguments.hpp"
#include "cli/console.hpp"
#include "cli/exit_code.hpp"
#include "cli/table.hpp"
#include "serve/config/checks.hpp"
#include "serve/config/config.hpp"
#include "serve/config/connections.hpp"
#include "serve/config/regular_file.hpp"
#include "serve/health_check.hpp"
#include "serve/server.hpp"
#include "transport/descriptors.hpp"

namespace ackbox::serve {
namespace {

using cli::Arguments;
using cli::Console;

constexpr std::size_t kConfigBytesMax = std::size_t{1024} * 1024;
// Enough for the store's files, the threads and a few connections. With fewer, it might listen and answer no requests.
constexpr std::size_t kDescriptorsLeast = 64;
constexpr std::size_t kLittleMemory = std::size_t{64} * 1024;

/// The fields that the command line sets.
std::vector<ConfigOverride> overridesOf(const Arguments& arguments, std::vector<ConfigProblem>& problems) {
  std::vector<ConfigOverride> overrides;
  for (const std::string& setting : arguments.settings) {
    const std::size_t equals = setting.find('=');
    if (equals == 0 || equals == std::string::npos) {
      problems.push_back({0, setting, "must be FIELD=VALUE, such as outbox.max_pending=5000", "--set"});
    } else {
      overrides.push_back({setting.substr(0, equals), setting.substr(equals + 1)});
    }
  }
  if (arguments.listen) {
    overrides.push_back({"listen", *arguments.listen, "--listen"});
  }
  return overrides;
}

Config readArguments(const Arguments& arguments, std::vector<ConfigProblem>& problems) {
  RegularFile file;
  if (!arguments.config.empty()) {
    file = readRegularFile(arguments.config, kConfigBytesMax);
    if (!file.problem.empty()) {
      // The problem begins with the file's name already.
      problems.push_back({0, {}, file.problem.substr(arguments.config.string().size() + 2)});
    } else if (file.text.empty()) {
      problems.push_back({0, {}, "is empty; {} is a configuration that sets nothing"});
    }
  }
  const std::vector<ConfigOverride> overrides = overridesOf(arguments, problems);
  return problems.empty() ? readConfig(file.text, overrides, problems, arguments.config.parent_path()) : Config();
}

int reportProblems(Console& console, const Arguments& arguments, const std::vector<ConfigProblem>& problems) {
  for (const ConfigProblem& problem : problems) {
    console.fail(cli::kUsage, describe(problem, arguments.config));
  }
  return cli::kUsage;
}

int listFields(Console& console) {
  cli::Table table({{"FIELD"}, {"TYPE"}, {"DEFAULT"}, {"RANGE"}, {"MEANING"}});
  for (FieldNote& note : configFields()) {
    table.add({std::move(note.path), std::move(note.type), std::move(note.fallback), std::move(note.range),
               std::move(note.meaning)});
  }
  console.table(table);
  return cli::kDone;
}

/// Called when an allocation fails. Refuses a large allocation and lets the process continue. If even a little memory
/// is unavailable, the process exits, because it could otherwise hang and look healthy: the next start continues with
/// what is in the file.
void onShortage() {
  if (void* const little = std::malloc(kLittleMemory); little != nullptr) {
    std::free(little);
    throw std::bad_alloc();
  }
  constexpr std::string_view kText =
      "ackbox serve: out of memory; the process ends, and the next one continues from the outbox. Give "
      "it more memory (ulimit -v, MemoryMax)\n";
  static_cast<void>(::write(STDERR_FILENO, kText.data(), kText.size()));
  ::_exit(cli::kCannot);
}

/// Calls `onSignal` for each signal, on the thread that runs `context`, until it returns false.
void awaitSignal(boost::asio::signal_set& signals, const std::function<bool(int)>& onSignal) {
  signals.async_wait([&signals, onSignal](const boost::system::error_code& error, int number) {
    if (!error && onSignal(number)) {
      awaitSignal(signals, onSignal);
    }
  });
}

}  // namespace

int runServe(Console& console, const Arguments& arguments) {
  if (arguments.fields) {
    return listFields(console);
  }
  if (arguments.file.empty()) {
    return console.fail(cli::kUsage, "FILE is required");
  }
  std::vector<ConfigProblem> problems;
  Config config = readArguments(arguments, problems);
  if (!problems.empty()) {
    return reportProblems(console, arguments, problems);
  }
  if (arguments.checkConfig) {
    console.say("the configuration is valid");
    return cli::kDone;
  }
  raiseDescriptorLimit(config);
  if (const std::size_t limit = transport::descriptorLimit(); limit < kDescriptorsLeast) {
    return console.fail(cli::kCannot, "the process may open " + std::to_string(limit) + " files and needs " +
                                          std::to_string(kDescriptorsLeast) +
                                          ": raise its limit, as with 'ulimit -n' or LimitNOFILE of its unit");
  }
  config.outbox.log = logToStandardError(config.logFormat);
  // Makes a file at its size limit (`ulimit -f`) a write error, like a full disk, instead of ending the process.
  std::signal(SIGXFSZ, SIG_IGN);
  std::set_new_handler(onShortage);
  boost::asio::io_context context;
  // Before the server has threads, so that no signal is lost.
  boost::asio::signal_set signals(context, SIGTERM, SIGINT, SIGHUP);
  std::optional<Server> started;
  try {
    started.emplace(arguments.file, std::move(config));
  } catch (const Error& error) {
    // The tool prefixes other errors with the file's name, but these are not about the file.
    if (error.code() == Errc::cannotListen) {
      return console.fail(cli::kCannot, error.what());
    }
    if (error.code() == Errc::invalidOption) {
      return console.fail(cli::kCannot, inConfigWords(error));
    }
    throw;
  }
  Server& server = *started;
  console.say("listening on " + server.url());
  if (const std::string inbox = server.inboxUrl(); !inbox.empty()) {
    console.say("inbox at " + inbox);
  }
  console.world().out.flush();
  awaitSignal(signals, [&](int number) {
    if (number != SIGHUP) {
      return false;
    }
    server.reload();
    return true;
  });
  context.run();
  server.stop();
  return cli::kDone;
}

PeerOptions readPeerOfTool(const std::string& name, std::string& definition) {
  Config config;
  config.addedPeers.secretsFolder = ".";
  PeerOptions peer = definedPeer(name, definition, config);
  PeerOptions bare = peer;
  bare.secrets = {};
  bare.headers = {};
  HttpSender(config.sender).usePeers({&bare, 1});
  definition = withoutComments(definition);
  return peer;
}

int runHealth(Console& console, const Arguments& arguments) {
  using State = HealthCheckResult::State;
  const HealthCheckResult result = checkHealth(arguments.url, arguments.timeout);
  if (result.state == State::wrongUrl) {
    return console.fail(cli::kUsage, "--url: " + result.text);
  }
  const bool isReady = result.state == State::ready;
  if (console.json()) {
    console.line(json::Line().add("url", arguments.url).add("ready", isReady).add("text", result.text));
    return isReady ? cli::kDone : cli::kNothing;
  }
  if (!isReady) {
    return console.fail(cli::kNothing, arguments.url + ": " + result.text);
  }
  console.say(result.text);
  return cli::kDone;
}

}  // namespace ackbox::serve
