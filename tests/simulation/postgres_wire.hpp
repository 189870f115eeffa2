#pragma once

#include <libpq-fe.h>

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "ackbox/random.hpp"

namespace ackbox::testing {
class SimulatedProcess;
}

namespace ackbox::simulation {

/// The connections of one life of a process to the server of its outbox. They are real; the calls of libpq that use
/// them pass through `libpq_calls.cpp`, which asks here before each write. So a process dies at any write, after which
/// nothing of it reaches the server; or the connection is lost there, and the process goes on. Either comes before the
/// server has the statements, or after it has carried them out: a COMMIT is made and nobody learns of it.
///
/// Thread-safety: none; everything of a simulation runs in one thread.
class PostgresWire {
public:
  enum class Fate {
    passes,
    /// The server gets nothing of it.
    lostBefore,
    /// The server carries it out, and the answer is lost.
    lostAfter,
  };

  /// Registers with the process, which outlives the use of its connections. `lost` is called for each connection that
  /// is lost while the process goes on.
  static std::shared_ptr<PostgresWire> make(testing::SimulatedProcess& process, std::function<void()> lost);
  PostgresWire(testing::SimulatedProcess& process, std::string name, std::function<void()> lost);
  ~PostgresWire();
  PostgresWire(const PostgresWire&) = delete;
  PostgresWire& operator=(const PostgresWire&) = delete;

  /// To be appended to a connection string: how its connections are recognised.
  [[nodiscard]] std::string mark() const { return " application_name=" + name_; }
  /// The wire that a connection string names; null: none does.
  [[nodiscard]] static std::shared_ptr<PostgresWire> in(const std::string& location);

  /// Whether the server can be reached.
  [[nodiscard]] bool mayConnect();
  void add(PGconn* connection) { connections_.insert(connection); }
  void remove(PGconn* connection) { connections_.erase(connection); }
  /// For a write. If it does not pass, the caller calls `lose`, before or after. Half of the losses wait for the next
  /// durable commit, as few writes are one.
  [[nodiscard]] Fate next(bool isDurableCommit);
  /// Ends this connection; all of the process's if that is dead.
  void lose(PGconn* connection);
  /// Returns when the server's processes have ended, and with them their transactions and locks.
  void loseAll();

private:
  testing::SimulatedProcess& process_;
  const std::string name_;
  const std::function<void()> lost_;
  const std::shared_ptr<Random> random_;
  std::set<PGconn*> connections_;
  bool isOver_ = false;
  bool waitsForCommit_ = false;
};

}  // namespace ackbox::simulation
