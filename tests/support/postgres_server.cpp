#include "support/postgres_server.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>

namespace ackbox::testing {
namespace {

constexpr const char* kUser = "postgres";

std::filesystem::path programs() {
  for (const auto& entry : std::filesystem::directory_iterator("/usr/lib/postgresql")) {
    if (std::filesystem::exists(entry.path() / "bin" / "initdb")) {
      return entry.path() / "bin";
    }
  }
  throw std::runtime_error("no PostgreSQL server is installed");
}

// The server refuses to run as root.
void call(const std::string& command) {
  const std::string whole = geteuid() == 0 ? "runuser -u " + std::string(kUser) + " -- " + command : command;
  if (std::system((whole + " >/dev/null 2>&1").c_str()) != 0) {
    throw std::runtime_error("this failed: " + whole);
  }
}

}  // namespace

const PostgresServer& PostgresServer::get() {
  static const PostgresServer server;
  return server;
}

PostgresServer::PostgresServer() {
  if (const char* const given = std::getenv("ACKBOX_POSTGRES")) {
    folder_ = given;
    return;
  }
  std::string pattern = (std::filesystem::temp_directory_path() / "ackbox-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) {
    throw std::runtime_error("mkdtemp failed");
  }
  folder_ = pattern;
  isOwn_ = true;
  std::filesystem::permissions(folder_, std::filesystem::perms::all);
  const std::string bin = programs().string();
  const std::string data = folder_ + "/data";
  // The new folder alone is not synced.
  call(bin + "/initdb -D " + data + " -U " + kUser + " -A trust -E UTF8 --no-locale --no-sync");
  const std::string settings = folder_ + "/settings";
  std::ofstream(settings) << "listen_addresses=''\nunix_socket_directories='" << folder_
                          << "'\nclient_connection_check_interval=50\nmax_connections=100\nshared_buffers=32MB\n";
  call("sh -c 'cat " + settings + " >> " + data + "/postgresql.conf'");
  call(bin + "/pg_ctl -D " + data + " -w -l " + folder_ + "/log start");
}

PostgresServer::~PostgresServer() {
  if (!isOwn_) {
    return;
  }
  try {
    call(programs().string() + "/pg_ctl -D " + folder_ + "/data -w -m immediate stop");
  } catch (const std::exception&) {
    // It has ended by itself.
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::string PostgresServer::location(const std::string& database) const {
  return "host=" + folder_ + " user=" + kUser + " dbname=" + database;
}

std::string PostgresServer::run(const std::string& database, const std::string& sql) const {
  const std::unique_ptr<PGconn, void (*)(PGconn*)> connection(PQconnectdb(location(database).c_str()), PQfinish);
  const std::unique_ptr<PGresult, void (*)(PGresult*)> result(PQexec(connection.get(), sql.c_str()), PQclear);
  const ExecStatusType status = PQresultStatus(result.get());
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
    throw std::runtime_error(std::string(PQerrorMessage(connection.get())) + "in: " + sql);
  }
  return PQntuples(result.get()) == 0 ? std::string() : PQgetvalue(result.get(), 0, 0);
}

}  // namespace ackbox::testing
