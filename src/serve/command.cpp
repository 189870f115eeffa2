#include "serve/command.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "ackbox/error.hpp"
#include "cli/arguments.hpp"
#include "cli/console.hpp"
#include "cli/exit_code.hpp"
#include "serve/config/config.hpp"
#include "serve/health_check.hpp"
#include "serve/server.hpp"

namespace ackbox::serve {
namespace {

using cli::Arguments;
using cli::Console;

/// What the command line says of fields.
std::vector<std::pair<std::string, std::string>> overridesOf(const Arguments& arguments,
                                                             std::vector<ConfigProblem>& problems) {
  std::vector<std::pair<std::string, std::string>> overrides;
  for (const std::string& setting : arguments.settings) {
    const std::size_t equals = setting.find('=');
    if (equals == 0 || equals == std::string::npos) {
      problems.push_back({0, setting, "--set wants FIELD=VALUE"});
    } else {
      overrides.emplace_back(setting.substr(0, equals), setting.substr(equals + 1));
    }
  }
  if (arguments.listen) {
    overrides.emplace_back("listen", *arguments.listen);
  }
  return overrides;
}

Config readArguments(const Arguments& arguments, std::vector<ConfigProblem>& problems) {
  std::string text;
  if (!arguments.config.empty()) {
    std::ifstream in(arguments.config, std::ios::binary);
    text.assign(std::istreambuf_iterator<char>(in), {});
    if (!in) {
      problems.push_back({0, {}, "cannot be read"});
    } else if (text.empty()) {
      problems.push_back({0, {}, "is empty"});
    }
  }
  const auto overrides = overridesOf(arguments, problems);
  return problems.empty() ? readConfig(text, overrides, problems) : Config();
}

int reportProblems(Console& console, const Arguments& arguments, const std::vector<ConfigProblem>& problems) {
  for (const ConfigProblem& problem : problems) {
    console.fail(cli::kUsage, describe(problem, arguments.config));
  }
  return cli::kUsage;
}

/// Calls what belongs to a signal, on the thread that runs `context`, until that says that it is enough.
void awaitSignal(boost::asio::signal_set& signals, const std::function<bool(int)>& onSignal) {
  signals.async_wait([&signals, onSignal](const boost::system::error_code& error, int number) {
    if (!error && onSignal(number)) {
      awaitSignal(signals, onSignal);
    }
  });
}

}  // namespace

int runServe(Console& console, const Arguments& arguments) {
  std::vector<ConfigProblem> problems;
  Config config = readArguments(arguments, problems);
  if (!problems.empty()) {
    return reportProblems(console, arguments, problems);
  }
  if (arguments.checkConfig) {
    console.say("the configuration is valid");
    return cli::kDone;
  }
  config.outbox.log = logToStandardError(config.logFormat);
  boost::asio::io_context context;
  // Before the server has threads, so that no signal is lost.
  boost::asio::signal_set signals(context, SIGTERM, SIGINT, SIGHUP);
  Server server(arguments.file, std::move(config));
  console.say("listening on " + server.url());
  if (const std::string inbox = server.inboxUrl(); !inbox.empty()) {
    console.say("inbox at " + inbox);
  }
  console.world().out.flush();
  awaitSignal(signals, [&](int number) {
    if (number != SIGHUP) {
      return false;
    }
    try {
      server.reload();
    } catch (const Error& error) {
      console.remark("not reloaded: " + std::string(error.what()));
    }
    return true;
  });
  context.run();
  server.stop();
  return cli::kDone;
}

int runHealth(Console& console, const Arguments& arguments) {
  const HealthCheckResult result = checkHealth(arguments.url);
  if (!result.isReady) {
    return console.fail(cli::kNothing, arguments.url + ": " + result.text);
  }
  console.say(result.text);
  return cli::kDone;
}

}  // namespace ackbox::serve
