// Worlds whose agents have a database each, on a real server.

#include <libpq-fe.h>

#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <utility>

#include "ackbox/postgres.hpp"
#include "ackbox/testing/simulation.hpp"
#include "postgres/connection.hpp"
#include "simulation/places.hpp"
#include "simulation/postgres_wire.hpp"
#include "store/postgres/schema/migrating.hpp"
#include "support/postgres_database.hpp"

namespace ackbox::simulation {
namespace {

/// The database that the agents' are copies of, made once.
const std::string& templateDatabase() {
  static const testing::PostgresDatabase database;
  static const bool isMade = [] {
    postgres::Connection connection(database.location());
    store::postgres::makeSchema(connection, {});
    connection.execute(
        "CREATE TABLE effects(at bigserial PRIMARY KEY,id text,origin text,session text,sequence bigint,reply text)");
    return true;
  }();
  static_cast<void>(isMade);
  return database.name();
}

class PostgresPlaces final : public Places {
public:
  void create(const std::string& agent) override { databases_.try_emplace(agent, templateDatabase()); }

  [[nodiscard]] OutboxManager open(const std::string& agent, testing::SimulatedProcess& process, OutboxOptions options,
                                   std::function<void()> claimsLost) override {
    const std::shared_ptr<PostgresWire> wire = PostgresWire::make(process, std::move(claimsLost));
    return OutboxManager::open(PostgresLocation{databases_.at(agent).location() + wire->mark()},
                               process.options(std::move(options)));
  }

  void write(InboundTransaction& transaction, const Effect& effect) override {
    PGconn* const connection = connectionOf(transaction);
    const std::string sequence = std::to_string(effect.sequence);
    const char* const values[] = {effect.id.c_str(), effect.origin.c_str(), effect.session.c_str(), sequence.c_str(),
                                  effect.reply.c_str()};
    const std::unique_ptr<PGresult, void (*)(PGresult*)> result(
        PQexecParams(connection, "INSERT INTO effects(id,origin,session,sequence,reply) VALUES($1,$2,$3,$4,$5)", 5,
                     nullptr, values, nullptr, nullptr, 0),
        PQclear);
    if (PQresultStatus(result.get()) != PGRES_COMMAND_OK) {
      throw std::runtime_error(PQerrorMessage(connection));
    }
  }

  [[nodiscard]] std::vector<Effect> effectsOf(const std::string& agent) override {
    postgres::Connection connection(databases_.at(agent).location());
    std::vector<Effect> effects;
    for (const postgres::Row row : connection.run("SELECT id,origin,session,sequence,reply FROM effects ORDER BY at")) {
      effects.push_back({row.text(0), row.text(1), row.text(2), row.as<std::uint64_t>(3), row.text(4)});
    }
    return effects;
  }

private:
  std::map<std::string, testing::PostgresDatabase> databases_;
};

}  // namespace

PlacesKind placesKind() {
  return {.name = "databases of a PostgreSQL server", .areFiles = false};
}

std::unique_ptr<Places> makePlaces(const AgentFiles& /*files*/) {
  return std::make_unique<PostgresPlaces>();
}

}  // namespace ackbox::simulation
