#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_reader.hpp"
#include "ackbox/postgres.hpp"
#include "manager/facade/core.hpp"
#include "manager/log/log.hpp"
#include "postgres/connection.hpp"
#include "store/decisions/uuid.hpp"
#include "store/place.hpp"
#include "store/postgres/connection_events.hpp"
#include "store/postgres/postgres_store.hpp"
#include "store/postgres/read/reader.hpp"
#include "store/postgres/signs.hpp"

// The members of the facades that open an outbox in PostgreSQL.

namespace ackbox {
namespace {

// What happens to a store's connection, in the log of its outbox.
class LoggedConnection final : public store::postgres::ConnectionEvents {
public:
  LoggedConnection(const OutboxOptions& options, std::string name)
      : log_(options.log, options.logLevel, options.clock), name_(std::move(name)) {}

  void notDurable(const std::string& why) {
    log_.writeUnasked(LogLevel::warning, "not-durable", name_, why, {{"file", name_}});
  }
  void notAlone(const std::string& agent) {
    log_.writeUnasked(LogLevel::warning, "other-agent", name_,
                      "a process of agent '" + agent +
                          "' has the database open: each of the two sends the other's messages in its own name; give "
                          "each agent a database of its own",
                      {{"file", name_}, {"agent", agent}});
  }
  void lost(const std::string& cause) override {
    log_.write(
        LogLevel::warning, "database-away",
        "the connection to the database was lost and is made anew; what is stored waits, and enqueues fail until "
        "then",
        {{"file", name_}, {"cause", cause}});
  }
  void back(std::chrono::milliseconds away) override {
    log_.write(
        LogLevel::info, "database-back", "there is a connection to the database again",
        {{"file", name_}, {"away_s", std::to_string(std::chrono::duration_cast<std::chrono::seconds>(away).count())}});
  }
  void serverChanged(const std::string& former, const std::string& present) override {
    log_.writeUnasked(LogLevel::warning, "server-changed", name_,
                      "another server has the database, such as a standby that was promoted, or one into which a dump "
                      "was restored: commits that the former one acknowledged may be missing; peers that know of such "
                      "messages are held, until `ackbox restore URL URL --identity new` makes this a new store",
                      {{"file", name_}, {"former", former}, {"present", present}});
  }

private:
  manager::Log log_;
  const std::string name_;
};

class Database final : public store::Place {
public:
  explicit Database(const PostgresLocation& location)
      : location_(location.text), name_(postgres::nameOf(location.text)), token_(store::randomUuid(*systemRandom())) {}

  [[nodiscard]] const std::string& name() const noexcept override { return name_; }
  [[nodiscard]] std::unique_ptr<store::Store> open(const OutboxOptions& options) const override {
    if (options.tablePrefix != OutboxOptions().tablePrefix) {
      throw OptionError("tablePrefix", "has no meaning for a database, whose tables are in the schema `ackbox`",
                        "the default; an agent of its own needs a database of its own");
    }
    const auto events = std::make_shared<LoggedConnection>(options, name_);
    auto store = std::make_unique<store::postgres::PostgresStore>(location_, options, token_, events);
    if (const std::string& why = store->whyUnsafe(); !why.empty()) {
      events->notDurable(why);
    }
    if (const std::string& agent = store->otherAgent(); !agent.empty()) {
      events->notAlone(agent);
    }
    return store;
  }
  [[nodiscard]] std::unique_ptr<const store::Reader> read(const OutboxOptions& options,
                                                          store::PeerLookup peers) const override {
    return std::make_unique<const store::postgres::PostgresReader>(location_, options, std::move(peers));
  }
  [[nodiscard]] std::unique_ptr<store::Signs> signs() const override {
    return std::make_unique<store::postgres::NotifiedSigns>(location_, token_);
  }
  // A reader looks for the tables itself.
  void require(const OutboxOptions& /*options*/) const override {}

private:
  const std::string location_;
  const std::string name_;
  // Names what this place has opened among all that have the database open.
  const std::string token_;
};

}  // namespace

OutboxManager OutboxManager::open(const PostgresLocation& location, OutboxOptions options) {
  return OutboxManager(manager::makeCore(
      postgres::nameOf(location.text), [&location] { return std::make_unique<const Database>(location); },
      std::move(options)));
}

OutboxReader OutboxReader::open(const PostgresLocation& location, OutboxOptions options) {
  return at([&location] { return std::make_unique<const Database>(location); }, std::move(options));
}

}  // namespace ackbox
