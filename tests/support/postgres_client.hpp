#pragma once

#include <libpq-fe.h>

#include <memory>
#include <string>

namespace ackbox::testing {

/// What a statement returns: the first row, with spaces between its columns; or the code of its error.
inline std::string answerOf(PGconn* connection, const std::string& sql) {
  const std::unique_ptr<PGresult, void (*)(PGresult*)> result(PQexec(connection, sql.c_str()), PQclear);
  if (const char* const code = PQresultErrorField(result.get(), PG_DIAG_SQLSTATE)) {
    return code;
  }
  std::string row;
  for (int column = 0; PQntuples(result.get()) > 0 && column < PQnfields(result.get()); ++column) {
    row += (column == 0 ? "" : " ") + std::string(PQgetvalue(result.get(), 0, column));
  }
  return row;
}

/// A program of the application's own.
struct PostgresClient {
  explicit PostgresClient(const std::string& location) : connection(PQconnectdb(location.c_str()), PQfinish) {}

  std::string run(const std::string& sql) const { return answerOf(connection.get(), sql); }
  std::string enqueue(const std::string& arguments) const {
    return run("SELECT status,sequence FROM ackbox.enqueue(" + arguments + ")");
  }

  std::unique_ptr<PGconn, void (*)(PGconn*)> connection;
};

}  // namespace ackbox::testing
