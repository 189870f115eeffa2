#include "postgres/copy.hpp"

#include <memory>

#include "postgres/values.hpp"

namespace ackbox::postgres {
namespace {

constexpr std::size_t kBufferBytes = 1U << 18U;

[[noreturn]] void fail(PGconn* connection, const PGresult* result) {
  // The other fields of an error have values of the application.
  const char* const state = result == nullptr ? nullptr : PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const char* const message = result == nullptr ? nullptr : PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  const std::string code = state == nullptr ? "" : state;
  throw Error(errcOf(code), message == nullptr ? std::string(PQerrorMessage(connection))
                                               : std::string(message) + ", SQLSTATE " + code);
}

void append(std::string& text, std::string_view value) {
  std::string room;
  for (const char character : cleanText(value, room)) {
    const bool isEscaped = character == '\\' || character == '\n' || character == '\r' || character == '\t';
    if (isEscaped) {
      text += '\\';
    }
    text += character == '\n' ? 'n' : character == '\r' ? 'r' : character == '\t' ? 't' : character;
  }
}

}  // namespace

Copy::Copy(Connection& connection, std::string_view table, std::string_view columns) : connection_(connection) {
  const std::string sql =
      expand(std::string("COPY #").append(table).append("(").append(columns).append(") FROM STDIN"));
  const std::unique_ptr<PGresult, void (*)(PGresult*)> result(PQexec(connection.handle(), sql.c_str()), PQclear);
  if (PQresultStatus(result.get()) != PGRES_COPY_IN) {
    fail(connection.handle(), result.get());
  }
}

void Copy::add(std::span<const std::optional<std::string_view>> row) {
  bool isFirst = true;
  for (const std::optional<std::string_view>& value : row) {
    text_ += isFirst ? "" : "\t";
    isFirst = false;
    if (value) {
      append(text_, *value);
    } else {
      text_ += "\\N";
    }
  }
  text_ += '\n';
  if (text_.size() >= kBufferBytes) {
    send();
  }
}

void Copy::send() {
  if (PQputCopyData(connection_.handle(), text_.data(), static_cast<int>(text_.size())) != 1) {
    fail(connection_.handle(), nullptr);
  }
  text_.clear();
}

void Copy::end() {
  PGconn* const handle = connection_.handle();
  send();
  if (PQputCopyEnd(handle, nullptr) != 1) {
    fail(handle, nullptr);
  }
  const std::unique_ptr<PGresult, void (*)(PGresult*)> result(PQgetResult(handle), PQclear);
  // Reads the end of the statement.
  while (PGresult* const next = PQgetResult(handle)) {
    PQclear(next);
  }
  if (PQresultStatus(result.get()) != PGRES_COMMAND_OK) {
    fail(handle, result.get());
  }
}

}  // namespace ackbox::postgres
