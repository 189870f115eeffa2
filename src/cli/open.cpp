#include "cli/open.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <vector>

#include "base/duration.hpp"
#include "base/timestamp.hpp"
#include "location/location.hpp"
#include "records/message.hpp"

namespace ackbox::cli {
namespace {

LogLevel levelOf(const std::string& name) {
  constexpr std::array kLevels = {LogLevel::debug, LogLevel::info, LogLevel::warning, LogLevel::error};
  const auto* const found = std::ranges::find_if(kLevels, [&](LogLevel level) { return toString(level) == name; });
  return found == kLevels.end() ? LogLevel::info : *found;
}

// The file's threads may log at the same time.
LogSink sinkOf(const World& world, bool isJson) {
  return [&err = world.err, isJson, mutex = std::make_shared<std::mutex>()](const LogRecord& record) {
    const std::string line = (isJson ? toJson(record) : toKeyValue(record)) + '\n';
    const std::lock_guard lock(*mutex);
    err << line << std::flush;
  };
}

/// `text` was checked: it is an instant, or how long ago it was.
std::optional<WallTime> instantOf(const std::optional<std::string>& text, WallTime now) {
  if (!text) {
    return std::nullopt;
  }
  const std::optional<WallTime> instant = parseTimestamp(*text);
  return instant ? instant : now - parseDuration(*text).value();
}

OutboxOptions optionsOf(const World& world, const Arguments& arguments) {
  OutboxOptions options;
  options.tablePrefix = arguments.prefix;
  options.busyTimeout = arguments.busyTimeout;
  options.clock = world.clock;
  options.random = world.random;
  options.adoptPeers = true;
  if (arguments.log) {
    options.log = sinkOf(world, arguments.json);
    options.logLevel = levelOf(*arguments.log);
  } else {
    // The tool prints its own messages.
    options.log = [](const LogRecord&) {};
  }
  options.createSchema = false;
  // A file may come from an untrusted source.
  options.trustSchema = false;
  options.maxPending = arguments.maxPending;
  // The agent sets both limits; the file does not store them.
  options.maxPendingBytes = 0;
  options.retry.horizon = std::chrono::milliseconds(0);
  return options;
}

}  // namespace

OutboxReader openToRead(const World& world, const Arguments& arguments) {
  return openToRead(world, arguments, arguments.file);
}

OutboxReader openToRead(const World& world, const Arguments& arguments, const std::filesystem::path& file) {
  return location::openReader(file, optionsOf(world, arguments));
}

std::string unknownSession(const std::string& peer, const std::string& session) {
  return "no message was ever enqueued to session " + session + " of " + peer;
}

MessageFilter messageFilterOf(const World& world, const Arguments& arguments) {
  MessageFilter filter;
  filter.peer = arguments.peer;
  filter.session = arguments.session;
  filter.type = arguments.typeWanted;
  if (arguments.state) {
    filter.state = records::messageStateOf(*arguments.state);
  }
  filter.since = instantOf(arguments.since, world.clock->wallNow());
  filter.isNewestFirst = arguments.newest;
  filter.before = instantOf(arguments.before, world.clock->wallNow());
  return filter;
}

DeadLetterFilter deadLetterFilterOf(const Arguments& arguments) {
  DeadLetterFilter filter;
  filter.peer = arguments.peer;
  filter.session = arguments.session;
  filter.type = arguments.typeWanted;
  filter.reason = arguments.reason;
  filter.error = arguments.error;
  filter.olderThan = arguments.olderThan;
  return filter;
}

void remarkUnknownNames(Console& console, const OutboxReader& reader, const Arguments& arguments) {
  if (!arguments.peer) {
    return;
  }
  const std::vector<PeerStatus> peers = reader.peers();
  if (std::ranges::find(peers, *arguments.peer, &PeerStatus::name) == peers.end()) {
    console.remark("the outbox knows no peer by the name of " + *arguments.peer);
  } else if (arguments.session && !arguments.session->empty() &&
             !reader.sessionStats(*arguments.peer, *arguments.session)) {
    console.remark(unknownSession(*arguments.peer, *arguments.session));
  }
}

FileRepairReport repairFile(const World& world, const Arguments& arguments) {
  if (location::isUrl(arguments.file)) {
    FileRepairReport report{openToChange(world, arguments).repair(), {}};
    report.left = openToRead(world, arguments).verify().findings;
    return report;
  }
  const auto repair = arguments.dryRun ? &OutboxOperator::previewRepair : &OutboxOperator::repairFile;
  return repair(arguments.file, optionsOf(world, arguments));
}

MigrationReport previewMigration(const World& world, const Arguments& arguments) {
  return location::previewMigration(arguments.file, optionsOf(world, arguments));
}

MigrationReport migrateTables(const World& world, const Arguments& arguments,
                              const std::function<void(const MigrationReport&)>& announce) {
  return location::migrate(arguments.file, optionsOf(world, arguments), announce);
}

MoveReport moveOutbox(const World& world, const Arguments& arguments, const MoveProgress& progress) {
  return location::moveOutbox(arguments.file, arguments.to, optionsOf(world, arguments), progress);
}

NewStoreReport makeNewStore(const World& world, const Arguments& arguments, const std::filesystem::path& file) {
  return location::makeNewStore(file, optionsOf(world, arguments));
}

OutboxManager openToEnqueue(const World& world, const Arguments& arguments) {
  return location::openManager(arguments.file, optionsOf(world, arguments));
}

OutboxOperator openToChange(const World& world, const Arguments& arguments) {
  OutboxManager manager = openToEnqueue(world, arguments);
  return OutboxOperator(manager);
}

}  // namespace ackbox::cli
