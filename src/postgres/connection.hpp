#pragma once

#include <libpq-fe.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ackbox/error.hpp"
#include "base/home_process.hpp"
#include "postgres/result.hpp"
#include "postgres/values.hpp"

namespace ackbox::postgres {

/// The one mapping of SQLSTATE codes; empty: the connection is lost.
[[nodiscard]] Errc errcOf(std::string_view sqlState) noexcept;

/// The database that `location` leads to, for people: without its user and password.
[[nodiscard]] std::string nameOf(const std::string& location);

/// A connection, its own or the application's, and the statements that it has prepared. In each statement, `#` stands
/// for the schema, which is written once.
///
/// All members throw `Error`. Thread-safety: none.
class Connection {
public:
  /// Connects, with keepalives on both sides. `location`: a connection string or URL of libpq. Throws `cannotOpen`,
  /// `pooledConnection`.
  explicit Connection(std::string location);
  /// The same to the server that `other` leads to, whatever else `location` names.
  Connection(std::string location, const Connection& other);
  /// Uses the application's connection, which must outlive this object. Statements are not named, so that a pooler may
  /// stand between.
  explicit Connection(PGconn* application);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Runs a statement, which is prepared at its first use.
  template <typename... Values>
  Result run(std::string_view sql, const Values&... values) {
    return runWith(sql, Parameters(values...));
  }
  /// The same, for parameters whose number is known when it runs.
  Result runWith(std::string_view sql, const Parameters& parameters);
  /// Runs a statement of which no result is wanted, with the next one that has a result, in one way to the server. Its
  /// error is thrown by that one.
  template <typename... Values>
  void post(std::string_view sql, const Values&... values) {
    postWith(sql, Parameters(values...));
  }
  void postWith(std::string_view sql, const Parameters& parameters);
  /// The same for a statement of which the result is wanted: `collect` follows, with no other call in between but
  /// this. Not on the application's connection.
  template <typename... Values>
  void ask(std::string_view sql, const Values&... values) {
    keep(sql, Parameters(values...));
  }
  /// Runs what is posted and asked in one way to the server; returns the results of the last `count` statements.
  std::vector<Result> collect(std::size_t count);
  /// Runs what is posted.
  void runPosted();
  /// In the rest of the transaction, statements find their rows by index only, as on each connection of the store; or
  /// they are planned as the server's settings say, for foreign code. Posted.
  void planByIndex();
  void planFreely();
  /// SQL: the session's settings as `Connection` makes them.
  [[nodiscard]] static std::string_view settings() noexcept;
  /// The names of its prepared statements begin so.
  static constexpr std::string_view kNames = "ackbox_s";
  /// Foreign code has left so many of its prepared statements. If some are missing, all are prepared anew.
  void notePrepared(std::size_t left) noexcept;
  /// Foreign code has had the connection: drops results that it has not read. False: the connection is of no use any
  /// more, as it was reset, or left in pipeline mode or within a COPY.
  [[nodiscard]] bool takeBack();
  /// What is posted is not run.
  void forgetPosted() noexcept { posted_.clear(); }
  /// Runs statements without parameters, or one if others are posted; the result is that of the last one.
  Result execute(std::string_view sql);

  /// Throws `invalidOption` if the application's connection sends texts in another encoding than UTF-8: the server
  /// would change the names that it gets.
  void requireUtf8() const;

  /// What libpq said last, one line: for a connection that is lost.
  [[nodiscard]] std::string whyLost() const;
  [[nodiscard]] bool isLost() const noexcept;
  /// Whether foreign code has made it a connection to another process of the server; it counts as lost.
  [[nodiscard]] bool isReset() const noexcept;
  /// Whether a statement has failed since `forgetOthers` for another transaction's sake.
  [[nodiscard]] bool hasLostRace() const noexcept { return hasLostRace_; }
  void noteRace() noexcept { hasLostRace_ = true; }
  /// Whether one has waited for another transaction's lock for as long as `lock_timeout` allows.
  [[nodiscard]] bool hasMetLock() const noexcept { return hasMetLock_; }
  void forgetOthers() noexcept { hasLostRace_ = hasMetLock_ = false; }
  [[nodiscard]] bool inTransaction() const noexcept;
  /// Whether a statement of the transaction has failed, so that it can only be rolled back.
  [[nodiscard]] bool hasFailed() const noexcept { return PQtransactionStatus(handle_) == PQTRANS_INERROR; }
  /// Connects anew, and forgets what was prepared. Throws `ioError`: it may succeed later.
  void reconnect();
  /// Ends the connection: it is lost, and what the server kept for it is gone.
  void drop() noexcept;
  [[nodiscard]] PGconn* handle() const noexcept { return handle_; }
  [[nodiscard]] int processId() const noexcept { return PQbackendPID(handle_); }

private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>()(text); }
  };

  /// What is posted, with copies of its values; nothing stands for NULL.
  struct Posted {
    std::string sql;
    std::vector<std::optional<std::string>> values;
    std::vector<int> formats;
  };

  void connect();
  void silence() noexcept;
  /// The name of the statement, which is prepared if it is new.
  const std::string& prepared(std::string_view sql);
  void keep(std::string_view sql, const Parameters& parameters);
  Result runTogether(std::string_view sql, const Parameters& parameters);
  /// The result of one statement in the pipeline.
  [[nodiscard]] PGresult* next() const;
  [[nodiscard]] Result checked(PGresult* result, std::string_view sql);

  const std::string location_;
  // Of the server that it must be; empty: any that the location names.
  const std::string host_;
  const std::string address_;
  const std::string port_;
  std::unique_ptr<PGconn, void (*)(PGconn*)> own_;
  PGconn* handle_ = nullptr;
  // The server's process, which changes if foreign code resets the connection.
  int process_ = 0;
  // The server keeps the locks of a process that has ended for as long as a child has the connection. Released first.
  UnsharedObject unshared_;
  // The names of prepared statements by their text. A name is not used again.
  std::size_t names_ = 0;
  // How many of them the server has.
  std::size_t kept_ = 0;
  std::unordered_map<std::string, std::string, Hash, std::equal_to<>> prepared_;
  std::vector<Posted> posted_;
  bool hasLostRace_ = false;
  bool hasMetLock_ = false;
  // A statement had no answer.
  bool isLost_ = false;
};

/// `sql` with the schema's name and a full stop in the place of each `#`.
[[nodiscard]] std::string expand(std::string_view sql);

}  // namespace ackbox::postgres
