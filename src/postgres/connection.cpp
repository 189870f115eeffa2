#include "postgres/connection.hpp"

#include <cstddef>
#include <utility>

namespace ackbox::postgres {
namespace {

constexpr std::string_view kSchema = "ackbox.";

}  // namespace

Errc errcOf(std::string_view sqlState) noexcept {
  const std::string_view kind = sqlState.substr(0, 2);
  if (kind == "40" || sqlState == "55P03" || sqlState == "23505" || kind == "57") {
    // Serialization failures, deadlocks, locks that were not free, and keys that another transaction has just used:
    // the same transaction may succeed now. A server that ends a connection says 57.
    return Errc::databaseBusy;
  }
  if (sqlState == "53100") {
    return Errc::diskFull;
  }
  if (kind == "XX") {
    return Errc::databaseCorrupt;
  }
  if (sqlState == "25006") {
    return Errc::databaseReadOnly;
  }
  if (sqlState == "42P01" || sqlState == "3F000") {
    return Errc::schemaMissing;
  }
  return sqlState.empty() || kind == "08" ? Errc::ioError : Errc::databaseError;
}

std::string expand(std::string_view sql) {
  std::string text;
  text.reserve(sql.size() + 64);
  for (const char character : sql) {
    if (character == '#') {
      text += kSchema;
    } else {
      text += character;
    }
  }
  return text;
}

Connection::Connection(std::string location) : location_(std::move(location)), own_(nullptr, PQfinish) {
  connect();
}

Connection::Connection(PGconn* application) : own_(nullptr, PQfinish), handle_(application) {}

void Connection::connect() {
  own_.reset();
  prepared_.clear();
  own_.reset(PQconnectdb(location_.c_str()));
  handle_ = own_.get();
  if (PQstatus(handle_) != CONNECTION_OK) {
    throw Error(Errc::cannotOpen, PQerrorMessage(handle_));
  }
  // Notices, such as of a schema that exists, go nowhere.
  PQsetNoticeProcessor(
      handle_, [](void*, const char*) {}, nullptr);
}

void Connection::reconnect() {
  connect();
}

Result Connection::runWith(std::string_view sql, const Parameters& parameters) {
  if (!own_) {
    return checked(PQexecParams(handle_, expand(sql).c_str(), parameters.count(), nullptr, parameters.values(),
                                parameters.lengths(), parameters.formats(), 0),
                   sql);
  }
  auto known = prepared_.find(sql);
  if (known == prepared_.end()) {
    std::string name = "s" + std::to_string(prepared_.size());
    static_cast<void>(checked(PQprepare(handle_, name.c_str(), expand(sql).c_str(), 0, nullptr), sql));
    known = prepared_.emplace(std::string(sql), std::move(name)).first;
  }
  return checked(PQexecPrepared(handle_, known->second.c_str(), parameters.count(), parameters.values(),
                                parameters.lengths(), parameters.formats(), 0),
                 sql);
}

Result Connection::execute(std::string_view sql) {
  return checked(PQexec(handle_, expand(sql).c_str()), sql);
}

bool Connection::isLost() const noexcept {
  return PQstatus(handle_) != CONNECTION_OK;
}

bool Connection::inTransaction() const noexcept {
  const PGTransactionStatusType status = PQtransactionStatus(handle_);
  return status == PQTRANS_INTRANS || status == PQTRANS_INERROR || status == PQTRANS_ACTIVE;
}

Result Connection::checked(PGresult* result, std::string_view sql) const {
  Result owned(result);
  const ExecStatusType status = PQresultStatus(result);
  if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || status == PGRES_EMPTY_QUERY) {
    return owned;
  }
  const char* const state = result == nullptr ? nullptr : PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const std::string_view code = state == nullptr ? std::string_view() : std::string_view(state);
  throw Error(errcOf(code), std::string(PQerrorMessage(handle_)) + "in: " + std::string(sql.substr(0, 200)));
}

}  // namespace ackbox::postgres
