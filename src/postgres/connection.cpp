#include "postgres/connection.hpp"

#include <cstddef>
#include <exception>
#include <utility>

namespace ackbox::postgres {
namespace {

constexpr std::string_view kSchema = "ackbox.";
constexpr int kServerLeast = 140'000;
constexpr std::string_view kUnreadable = "postgres://...";

// What comes later counts: first what the location does not say itself, then the location, then a server that is
// known. A host that is gone is noticed after 5 s.
constexpr const char* kKeywords[] = {"fallback_application_name",
                                     "connect_timeout",
                                     "keepalives_idle",
                                     "keepalives_interval",
                                     "keepalives_count",
                                     "tcp_user_timeout",
                                     "dbname",
                                     "host",
                                     "hostaddr",
                                     "port",
                                     nullptr};
// Statements find their rows by keys; a plan that was made while a table was small must not read the whole of it later.
// So one plan serves for all values, and planning anew for each would take a third of a small transaction's time.
// Texts and bytes are read in one form, whatever the database, the role or the environment prefer.
// The server notices the same of this host, and a process that has ended even during a statement.
constexpr std::string_view kSettings =
    "SELECT set_config(name,value,false) FROM (VALUES('tcp_keepalives_idle','2'),('tcp_keepalives_interval','1'),"
    "('tcp_keepalives_count','3'),('tcp_user_timeout','5000'),('client_connection_check_interval','50'),"
    "('enable_seqscan','off'),('jit','off'),('plan_cache_mode','force_generic_plan'),('client_encoding','UTF8'),"
    "('bytea_output','hex'),('standard_conforming_strings','on'),('default_transaction_isolation','read committed'),"
    "('idle_session_timeout','0'),('idle_in_transaction_session_timeout','0'),('synchronous_commit','on')) AS "
    "s(name,value) WHERE name<>'synchronous_commit' OR "
    "current_setting(name)='off'";

// libpq's texts have several lines, and end with one.
std::string oneLine(std::string_view text) {
  std::string line;
  for (const char character : text.substr(0, text.find_last_not_of('\n') + 1)) {
    if (character == '\n') {
      line += "; ";
    } else if (character != '\t') {
      line += character;
    }
  }
  return line;
}

}  // namespace

std::string nameOf(const std::string& location) {
  const std::unique_ptr<PQconninfoOption, void (*)(PQconninfoOption*)> parsed(
      PQconninfoParse(location.c_str(), nullptr), PQconninfoFree);
  if (!parsed) {
    return {};
  }
  std::string host;
  std::string port;
  std::string database;
  for (const PQconninfoOption* option = parsed.get(); option != nullptr && option->keyword != nullptr; ++option) {
    const std::string_view keyword = option->keyword;
    const std::string value = option->val == nullptr ? "" : option->val;
    if (keyword == "host") {
      host = value;
    } else if (keyword == "port" && !value.empty()) {
      port = ":" + value;
    } else if (keyword == "dbname") {
      database = value;
    }
  }
  // Special characters of a password that are not written as %XX make a part of it look like a host, port or database.
  const bool isMisread = host.find('@') != std::string::npos || database.find('@') != std::string::npos ||
                         port.find_first_not_of(":,0123456789") != std::string::npos;
  return isMisread ? std::string(kUnreadable) : "postgres://" + host + port + "/" + database;
}

Errc errcOf(std::string_view sqlState) noexcept {
  const std::string_view kind = sqlState.substr(0, 2);
  if (sqlState == "57014") {
    // A statement that was cancelled, or took longer than a `statement_timeout`, is its own failure.
    return Errc::databaseError;
  }
  if (kind == "40" || sqlState == "55P03" || sqlState == "23505") {
    // Lost races, and locks that were not free.
    return Errc::databaseBusy;
  }
  if (sqlState == "53100") {
    return Errc::diskFull;
  }
  if (sqlState == "3B001") {
    // A savepoint has gone with its transaction.
    return Errc::handlerEndedTransaction;
  }
  if (sqlState == "XX001" || sqlState == "XX002") {
    // The others of the kind are internal errors of the server, not damage.
    return Errc::databaseCorrupt;
  }
  if (sqlState == "25006") {
    return Errc::databaseReadOnly;
  }
  if (sqlState == "42P01" || sqlState == "3F000") {
    return Errc::schemaMissing;
  }
  // A server that ends a connection says 57.
  return sqlState.empty() || kind == "08" || kind == "57" ? Errc::ioError : Errc::databaseError;
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

Connection::Connection(std::string location, const Connection& other)
    : location_(std::move(location)),
      host_(PQhost(other.handle_)),
      address_(PQhostaddr(other.handle_)),
      port_(PQport(other.handle_)),
      own_(nullptr, PQfinish) {
  connect();
}

Connection::Connection(PGconn* application) : own_(nullptr, PQfinish), handle_(application) {}

void Connection::drop() noexcept {
  unshared_.release();
  own_.reset();
  isLost_ = false;
  handle_ = nullptr;
  prepared_.clear();
  kept_ = 0;
  posted_.clear();
}

void Connection::connect() {
  drop();
  const char* const values[] = {
      "ackbox",         "10",          "2",    "1", "3", "5000", location_.c_str(), host_.c_str(),
      address_.c_str(), port_.c_str(), nullptr};
  own_.reset(PQconnectdbParams(kKeywords, values, 1));
  handle_ = own_.get();
  unshared_.hold(handle_, [](const void* connection) { return PQsocket(static_cast<const PGconn*>(connection)); });
  if (PQstatus(handle_) != CONNECTION_OK) {
    // libpq's text quotes what it cannot read, which may be a part of the password.
    const std::string_view text = PQerrorMessage(handle_);
    const std::string name = nameOf(location_);
    const bool isRead =
        !name.empty() && name != kUnreadable && text.find("connection option") == std::string_view::npos;
    throw Error(Errc::cannotOpen, isRead
                                      ? oneLine(text)
                                      : "the URL or an option of it cannot be read: write special characters of user "
                                        "and password as %XX, such as %2F for a slash");
  }
  if (PQserverVersion(handle_) < kServerLeast) {
    throw Error(Errc::cannotOpen, "the server is older than PostgreSQL 14");
  }
  const char* const encoding = PQparameterStatus(handle_, "server_encoding");
  if (encoding != nullptr && std::string_view(encoding) != "UTF8") {
    throw Error(Errc::cannotOpen, std::string("the database's encoding is ") + encoding +
                                      ": make one with ENCODING 'UTF8', because names and data are UTF-8");
  }
  process_ = processId();
  silence();
  execute(kSettings);
  // A pooler answers with a number of its own for the server's process.
  if (execute("SELECT pg_backend_pid()").front().integer(0) != processId()) {
    throw Error(Errc::pooledConnection, nameOf(location_));
  }
}

void Connection::requireUtf8() const {
  // In SQL_ASCII, the server takes bytes as they are, and verifies them.
  const std::string_view encoding = pg_encoding_to_char(PQclientEncoding(handle_));
  if (encoding != "UTF8" && encoding != "SQL_ASCII") {
    throw Error(Errc::invalidOption, "the connection's client_encoding is " + std::string(encoding) +
                                         ": set it to UTF8, because names and data are UTF-8");
  }
}

// Notices, such as of a schema that exists, go nowhere.
void Connection::silence() noexcept {
  PQsetNoticeReceiver(
      handle_, [](void*, const PGresult*) {}, nullptr);
}

bool Connection::takeBack() {
  silence();
  if (isLost() || PQpipelineStatus(handle_) != PQ_PIPELINE_OFF) {
    return false;
  }
  PQsetnonblocking(handle_, 0);
  while (PGresult* const unread = PQgetResult(handle_)) {
    const ExecStatusType status = PQresultStatus(unread);
    PQclear(unread);
    if (status == PGRES_COPY_IN || status == PGRES_COPY_OUT || status == PGRES_COPY_BOTH) {
      return false;
    }
  }
  return !isLost();
}

// The place was right once: the server is out of reach for a time.
void Connection::reconnect() {
  try {
    connect();
  } catch (const Error& error) {
    drop();
    throw Error(Errc::ioError, error.what());
  }
}

const std::string& Connection::prepared(std::string_view sql) {
  auto known = prepared_.find(sql);
  if (known == prepared_.end()) {
    std::string name = std::string(kNames) + std::to_string(names_++);
    static_cast<void>(checked(PQprepare(handle_, name.c_str(), expand(sql).c_str(), 0, nullptr), sql));
    ++kept_;
    known = prepared_.emplace(std::string(sql), std::move(name)).first;
  }
  return known->second;
}

Result Connection::runWith(std::string_view sql, const Parameters& parameters) {
  if (!own_) {
    return checked(PQexecParams(handle_, expand(sql).c_str(), parameters.count(), nullptr, parameters.values(),
                                parameters.lengths(), parameters.formats(), 0),
                   sql);
  }
  if (!posted_.empty()) {
    return runTogether(sql, parameters);
  }
  const std::string& name = prepared(sql);
  return checked(PQexecPrepared(handle_, name.c_str(), parameters.count(), parameters.values(), parameters.lengths(),
                                parameters.formats(), 0),
                 sql);
}

void Connection::postWith(std::string_view sql, const Parameters& parameters) {
  // The results of so many small statements fit into the socket's memory: the server never waits for them to be read.
  constexpr std::size_t kPostedMax = 32;
  if (!own_ || posted_.size() == kPostedMax) {
    static_cast<void>(runWith(sql, parameters));
    return;
  }
  keep(sql, parameters);
}

void Connection::keep(std::string_view sql, const Parameters& parameters) {
  Posted posted{std::string(sql), {}, {}};
  for (int place = 0; place < parameters.count(); ++place) {
    const char* const value = parameters.values()[place];
    const bool isBinary = parameters.formats()[place] != 0;
    posted.formats.push_back(parameters.formats()[place]);
    if (value == nullptr) {
      posted.values.emplace_back();
    } else if (isBinary) {
      posted.values.emplace_back(std::string(value, static_cast<std::size_t>(parameters.lengths()[place])));
    } else {
      posted.values.emplace_back(value);
    }
  }
  posted_.push_back(std::move(posted));
}

std::vector<Result> Connection::collect(std::size_t count) {
  const std::vector<Posted> posted = std::exchange(posted_, {});
  std::vector<const char*> names;
  names.reserve(posted.size());
  for (const Posted& one : posted) {
    names.push_back(prepared(one.sql).c_str());
  }
  const auto sent = [this, &posted](int isSent) {
    if (isSent == 0) {
      isLost_ = true;
      throw Error(Errc::ioError, whyLost() + ", in: " + posted.back().sql.substr(0, 200));
    }
  };
  sent(PQenterPipelineMode(handle_));
  for (std::size_t index = 0; index < posted.size(); ++index) {
    const Posted& one = posted[index];
    std::vector<const char*> values;
    std::vector<int> lengths;
    for (const std::optional<std::string>& value : one.values) {
      values.push_back(value ? value->c_str() : nullptr);
      lengths.push_back(value ? static_cast<int>(value->size()) : 0);
    }
    sent(PQsendQueryPrepared(handle_, names[index], static_cast<int>(values.size()), values.data(), lengths.data(),
                             one.formats.data(), 0));
  }
  sent(PQpipelineSync(handle_));
  std::exception_ptr failure;
  std::vector<Result> last;
  for (std::size_t index = 0; index < posted.size(); ++index) {
    PGresult* const result = next();
    if (failure) {
      // What follows a failed statement was passed over.
      PQclear(result);
      continue;
    }
    try {
      Result owned = checked(result, posted[index].sql);
      if (index + count >= posted.size()) {
        last.push_back(std::move(owned));
      }
    } catch (const Error&) {
      failure = std::current_exception();
    }
  }
  // The end of the pipeline.
  PQclear(next());
  PQexitPipelineMode(handle_);
  if (failure) {
    std::rethrow_exception(failure);
  }
  return last;
}

void Connection::runPosted() {
  if (!posted_.empty()) {
    collect(0);
  }
}

std::string_view Connection::settings() noexcept {
  return kSettings;
}

// A name is not used again, so those that are there still do no harm.
void Connection::notePrepared(std::size_t left) noexcept {
  if (left < kept_) {
    prepared_.clear();
  }
  kept_ = left;
}

void Connection::planByIndex() {
  post(
      "SELECT set_config('enable_seqscan','off',true),set_config('jit','off',true),"
      "set_config('plan_cache_mode','force_generic_plan',true)");
}

void Connection::planFreely() {
  post("SET LOCAL enable_seqscan TO DEFAULT");
  post("SET LOCAL jit TO DEFAULT");
  post("SET LOCAL plan_cache_mode TO DEFAULT");
}

Result Connection::runTogether(std::string_view sql, const Parameters& parameters) {
  keep(sql, parameters);
  return std::move(collect(1).front());
}

PGresult* Connection::next() const {
  PGresult* result = PQgetResult(handle_);
  if (result == nullptr) {
    // The end of the statement before.
    result = PQgetResult(handle_);
  }
  return result;
}

Result Connection::execute(std::string_view sql) {
  if (!posted_.empty()) {
    return runTogether(sql, Parameters());
  }
  return checked(PQexec(handle_, expand(sql).c_str()), sql);
}

std::string Connection::whyLost() const {
  const std::string_view text = handle_ == nullptr ? std::string_view() : PQerrorMessage(handle_);
  return std::string(text.substr(0, text.find('\n')));
}

bool Connection::isLost() const noexcept {
  return isLost_ || PQstatus(handle_) != CONNECTION_OK || isReset();
}

bool Connection::isReset() const noexcept {
  return own_ && PQstatus(handle_) == CONNECTION_OK && processId() != process_;
}

bool Connection::inTransaction() const noexcept {
  const PGTransactionStatusType status = PQtransactionStatus(handle_);
  return status == PQTRANS_INTRANS || status == PQTRANS_INERROR || status == PQTRANS_ACTIVE;
}

Result Connection::checked(PGresult* result, std::string_view sql) {
  Result owned(result);
  const ExecStatusType status = PQresultStatus(result);
  if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || status == PGRES_EMPTY_QUERY) {
    return owned;
  }
  const char* const state = result == nullptr ? nullptr : PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const std::string_view code = state == nullptr ? std::string_view() : std::string_view(state);
  // Serialization failures and deadlocks, and keys that another transaction has just used.
  hasLostRace_ = hasLostRace_ || code.substr(0, 2) == "40" || code == "23505";
  hasMetLock_ = hasMetLock_ || code == "55P03";
  if (code == "26000") {
    // Foreign code has deallocated prepared statements, all or this one.
    prepared_.clear();
  }
  // In a pipeline, libpq takes a connection for whole after a write that failed.
  isLost_ = isLost_ || (own_ && code.empty());
  // Its other lines may have values of the application.
  const char* const message = result == nullptr ? nullptr : PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  std::string text = message == nullptr ? whyLost() : std::string(message) + ", SQLSTATE " + std::string(code);
  throw Error(errcOf(code), std::move(text) + ", in: " + std::string(sql.substr(0, 200)));
}

}  // namespace ackbox::postgres
