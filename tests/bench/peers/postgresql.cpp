// PostgreSQL with an outbox table: the producer inserts batches, pipelined, each a transaction that is synced before it
// is answered; the relay takes rows with SKIP LOCKED, makes their effects, deletes them and commits. LISTEN wakes it.

#include <arpa/inet.h>
#include <libpq-fe.h>
#include <poll.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bench/peers/peer.hpp"

namespace ackbox::bench::peers {
namespace {

// Messages of one insert. Several inserts are outstanding at a time.
constexpr std::size_t kInsert = 100;

struct Free {
  void operator()(PGconn* connection) const { PQfinish(connection); }
  void operator()(PGresult* result) const { PQclear(result); }
};
using Connection = std::unique_ptr<PGconn, Free>;
using Result = std::unique_ptr<PGresult, Free>;

Connection connect(const Server& server) {
  Connection connection(PQsetdbLogin(server.host.c_str(), std::to_string(server.port).c_str(), nullptr, nullptr,
                                     "postgres", "postgres", nullptr));
  if (PQstatus(connection.get()) != CONNECTION_OK) {
    throw std::runtime_error(PQerrorMessage(connection.get()));
  }
  return connection;
}

Result checked(PGresult* raw) {
  Result result(raw);
  const ExecStatusType status = PQresultStatus(raw);
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK && status != PGRES_PIPELINE_SYNC) {
    throw std::runtime_error(std::string("PostgreSQL: ") + PQresultErrorMessage(raw));
  }
  return result;
}

void execute(PGconn& connection, const char* command) {
  (void)checked(PQexec(&connection, command));
}

void prepare(PGconn& connection, const char* name, const char* command) {
  (void)checked(PQprepare(&connection, name, command, 0, nullptr));
}

Result executePrepared(PGconn& connection, const char* name) {
  return checked(PQexecPrepared(&connection, name, 0, nullptr, nullptr, nullptr, 0));
}

// An array of one dimension in PostgreSQL's binary form: dimensions, whether it has NULLs, type of the elements, their
// number, first index; then each with its length.
class BinaryArray {
public:
  BinaryArray(std::uint32_t elementType, std::size_t count) {
    for (const std::uint32_t word :
         {std::uint32_t{1}, std::uint32_t{0}, elementType, static_cast<std::uint32_t>(count), std::uint32_t{1}}) {
      addWord(word);
    }
  }

  void add(std::string_view element) {
    addWord(static_cast<std::uint32_t>(element.size()));
    bytes_ += element;
  }

  [[nodiscard]] const char* data() const { return bytes_.data(); }
  [[nodiscard]] int size() const { return static_cast<int>(bytes_.size()); }

private:
  void addWord(std::uint32_t word) {
    const std::uint32_t ordered = htonl(word);
    bytes_.append(reinterpret_cast<const char*>(&ordered), sizeof(ordered));
  }

  std::string bytes_;
};

// PostgreSQL's catalog/pg_type.dat.
constexpr std::uint32_t kBigintType = 20;
constexpr std::uint32_t kTextType = 25;
constexpr int kBinary = 1;

class PostgresqlProducer : public Producer {
public:
  explicit PostgresqlProducer(const Server& server) : connection_(connect(server)) {
    prepare(*connection_, "insert",
            "WITH stored AS (INSERT INTO outbox (session, data) SELECT * FROM unnest($1::text[], $2::text[])) "
            "SELECT pg_notify('outbox', '')");
    if (PQenterPipelineMode(connection_.get()) != 1) {
      throw std::runtime_error("no pipeline mode");
    }
  }

  void publish(const Message& message) override {
    batch_.push_back(message);
    if (batch_.size() == kInsert) {
      send();
    }
    while ((inserts_ + 1) * kInsert > kWindow) {
      awaitInsert();
    }
  }

  void drain() override {
    if (!batch_.empty()) {
      send();
    }
    while (inserts_ != 0) {
      awaitInsert();
    }
  }

private:
  void send() {
    BinaryArray sessions(kTextType, batch_.size());
    BinaryArray data(kTextType, batch_.size());
    for (const Message& message : batch_) {
      sessions.add(message.session);
      data.add(message.data);
    }
    batch_.clear();
    const std::array<const char*, 2> values = {sessions.data(), data.data()};
    const std::array<int, 2> lengths = {sessions.size(), data.size()};
    const std::array<int, 2> formats = {kBinary, kBinary};
    if (PQsendQueryPrepared(connection_.get(), "insert", 2, values.data(), lengths.data(), formats.data(), kBinary) !=
            1 ||
        PQpipelineSync(connection_.get()) != 1) {
      throw std::runtime_error(PQerrorMessage(connection_.get()));
    }
    ++inserts_;
  }

  // Its rows, the end of them, and the end of its transaction.
  void awaitInsert() {
    for (bool isOver = false; !isOver;) {
      if (PGresult* raw = PQgetResult(connection_.get()); raw != nullptr) {
        isOver = PQresultStatus(checked(raw).get()) == PGRES_PIPELINE_SYNC;
      }
    }
    --inserts_;
  }

  const Connection connection_;
  std::vector<Message> batch_;
  std::size_t inserts_ = 0;
};

class PostgresqlConsumer : public Consumer {
public:
  explicit PostgresqlConsumer(const Server& server) : connection_(connect(server)) {
    execute(*connection_, "CREATE TABLE outbox (id bigserial PRIMARY KEY, session text NOT NULL, data text NOT NULL)");
    execute(*connection_, "LISTEN outbox");
    const std::string select =
        "SELECT id, session, data FROM outbox ORDER BY id FOR UPDATE SKIP LOCKED LIMIT " + std::to_string(kBatch);
    prepare(*connection_, "take", select.c_str());
    prepare(*connection_, "delete", "DELETE FROM outbox WHERE id = ANY($1::bigint[])");
    prepare(*connection_, "begin", "BEGIN");
    prepare(*connection_, "commit", "COMMIT");
  }

  std::size_t consume(Effects& effects) override {
    (void)executePrepared(*connection_, "begin");
    const Result rows = checked(PQexecPrepared(connection_.get(), "take", 0, nullptr, nullptr, nullptr, kBinary));
    const int count = PQntuples(rows.get());
    if (count != 0) {
      take(*rows, count, effects);
    }
    (void)executePrepared(*connection_, "commit");
    if (count == 0) {
      awaitNotification();
    }
    return static_cast<std::size_t>(count);
  }

private:
  void take(const PGresult& rows, int count, Effects& effects) {
    const auto field = [&](int row, int column) {
      return std::string(PQgetvalue(&rows, row, column), static_cast<std::size_t>(PQgetlength(&rows, row, column)));
    };
    BinaryArray ids(kBigintType, static_cast<std::size_t>(count));
    effects.begin();
    for (int row = 0; row < count; ++row) {
      effects.add({field(row, 1), field(row, 2)});
      ids.add(field(row, 0));
    }
    effects.commit();
    const std::array<const char*, 1> values = {ids.data()};
    const std::array<int, 1> lengths = {ids.size()};
    const std::array<int, 1> formats = {kBinary};
    (void)checked(PQexecPrepared(connection_.get(), "delete", 1, values.data(), lengths.data(), formats.data(), 0));
  }

  // Returns at once when one came since the last time.
  void awaitNotification() {
    PQconsumeInput(connection_.get());
    bool isNotified = false;
    while (PGnotify* notification = PQnotifies(connection_.get())) {
      PQfreemem(notification);
      isNotified = true;
    }
    if (!isNotified) {
      pollfd socket{PQsocket(connection_.get()), POLLIN, 0};
      poll(&socket, 1, kPollMilliseconds);
    }
  }

  const Connection connection_;
};

}  // namespace
}  // namespace ackbox::bench::peers

int main(int argc, char** argv) {
  using namespace ackbox::bench::peers;
  return runPeer(argc, argv,
                 {[](const Server& server) { return std::make_unique<PostgresqlProducer>(server); },
                  [](const Server& server) { return std::make_unique<PostgresqlConsumer>(server); }});
}
