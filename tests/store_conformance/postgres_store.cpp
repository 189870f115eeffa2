// The promises of the store, tried on PostgreSQL: a database of its own for each case, from a template that has the
// tables.

#include <libpq-fe.h>

#include <memory>
#include <stdexcept>
#include <string>

#include "postgres/connection.hpp"
#include "store/postgres/outbound/application_writer.hpp"
#include "store/postgres/postgres_store.hpp"
#include "store/postgres/read/reader.hpp"
#include "store/postgres/schema/migrating.hpp"
#include "store_conformance/store_under_test.hpp"
#include "support/postgres_database.hpp"

namespace ackbox::testing {
namespace {

using store::postgres::PostgresStore;

class PostgresApplication final : public Application {
public:
  PostgresApplication(const std::string& location, const OutboxOptions& options)
      : connection_(PQconnectdb(location.c_str()), PQfinish), writer_(connection_.get(), options) {}
  void begin() override { run("BEGIN"); }
  EnqueueReceipt enqueue(const Frame& frame) override { return writer_.enqueue(frame); }
  PublishReceipt publish(const Frame& frame) override { return writer_.publish(frame); }
  void commit() override { run("COMMIT"); }
  void rollback() override { run("ROLLBACK"); }

private:
  void run(const char* sql) {
    const std::unique_ptr<PGresult, void (*)(PGresult*)> result(PQexec(connection_.get(), sql), PQclear);
    if (PQresultStatus(result.get()) != PGRES_COMMAND_OK) {
      throw std::runtime_error(PQerrorMessage(connection_.get()));
    }
  }

  std::unique_ptr<PGconn, void (*)(PGconn*)> connection_;
  store::postgres::ApplicationWriter writer_;
};

/// The database that has the tables, made once in each process.
const std::string& templateDatabase() {
  static const PostgresDatabase database;
  static const bool isMade = [] {
    postgres::Connection connection(database.location());
    store::postgres::makeSchema(connection, {});
    return true;
  }();
  static_cast<void>(isMade);
  return database.name();
}

class PostgresUnderTest final : public StoreUnderTest {
public:
  PostgresUnderTest() : database_(templateDatabase()) {}

  [[nodiscard]] std::string name() const override { return "PostgreSQL"; }
  [[nodiscard]] std::unique_ptr<store::Store> open(const OutboxOptions& options) override {
    return std::make_unique<PostgresStore>(location(), options);
  }
  [[nodiscard]] std::unique_ptr<const store::Reader> read(const OutboxOptions& options) override {
    return std::make_unique<store::postgres::PostgresReader>(location(), options);
  }
  [[nodiscard]] VerifyReport verify(const OutboxOptions& options) override { return read(options)->verify(); }
  [[nodiscard]] std::unique_ptr<Application> application(const OutboxOptions& options) override {
    return std::make_unique<PostgresApplication>(location(), options);
  }
  // The server's process ends, which drops its locks, before this returns.
  void crash(store::Store& handle) override {
    const int process = dynamic_cast<PostgresStore&>(handle).serverProcess();
    database_.run("SELECT pg_terminate_backend(" + std::to_string(process) + ", 10000)");
  }

private:
  [[nodiscard]] std::string location() const { return database_.location(); }

  const PostgresDatabase database_;
};

}  // namespace

std::unique_ptr<StoreUnderTest> makeStoreUnderTest() {
  return std::make_unique<PostgresUnderTest>();
}

}  // namespace ackbox::testing
