#pragma once

#include <libpq-fe.h>

#include <string>

namespace ackbox::testing {

/// A PostgreSQL server of this process's own: in a temporary folder, reached by a socket there, with fsync. It is
/// started at the first use and stopped at the process's end. The folder in ACKBOX_POSTGRES, where a server listens,
/// takes its place.
class PostgresServer {
public:
  [[nodiscard]] static const PostgresServer& get();
  ~PostgresServer();
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  /// The folder of its socket.
  [[nodiscard]] const std::string& folder() const noexcept { return folder_; }
  /// A connection string for the database.
  [[nodiscard]] std::string location(const std::string& database) const;
  /// Runs a statement in the database `postgres`; returns its first value, if it has any. Throws `std::runtime_error`.
  std::string run(const std::string& sql) const { return run("postgres", sql); }
  std::string run(const std::string& database, const std::string& sql) const;

private:
  PostgresServer();

  std::string folder_;
  bool isOwn_ = false;
};

}  // namespace ackbox::testing
