#pragma once

#include <unistd.h>

#include <mutex>
#include <string>
#include <vector>

#include "support/comes_to.hpp"
#include "support/postgres_server.hpp"

namespace ackbox::testing {

/// A database of its own, empty at first, and removed with this object.
class PostgresDatabase {
public:
  explicit PostgresDatabase(const std::string& from = "template0")
      : name_("ackbox_" + std::to_string(getpid()) + "_" + std::to_string(++count_)) {
    PostgresServer::get().run("CREATE DATABASE " + name_ + " TEMPLATE " + from + " STRATEGY FILE_COPY");
  }
  ~PostgresDatabase() { PostgresServer::get().run("DROP DATABASE " + name_ + " WITH (FORCE)"); }
  PostgresDatabase(const PostgresDatabase&) = delete;
  PostgresDatabase& operator=(const PostgresDatabase&) = delete;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] std::string location() const { return PostgresServer::get().location(name_); }
  std::string run(const std::string& sql) const { return PostgresServer::get().run(name_, sql); }

private:
  static inline int count_ = 0;
  const std::string name_;
};

/// Sets the standby that commits wait for; empty: none. Commits that come before the server has read it do not wait.
inline void setStandby(const std::string& name) {
  PostgresServer::get().run("ALTER SYSTEM SET synchronous_standby_names='" + name + "'");
  PostgresServer::get().run("SELECT pg_reload_conf()");
}

/// Waits until that process of the server waits for a standby, behind its commit.
inline void awaitCommitOf(const std::string& process) {
  const std::string waits = "SELECT count(*) FROM pg_stat_activity WHERE pid=" + process + " AND wait_event='SyncRep'";
  static_cast<void>(comesTo([&] { return PostgresServer::get().run(waits) != "0"; }));
}

/// Processes of the server, each of one connection, that a test ends as a lost connection would.
class ServerProcesses {
public:
  /// The place of a connection that is made anew after its end.
  class Place {
  public:
    Place(ServerProcesses& all, std::size_t place) : all_(all), place_(place) {}
    void update(int process) const {
      const std::lock_guard lock(all_.mutex_);
      all_.processes_[place_] = process;
    }

  private:
    ServerProcesses& all_;
    std::size_t place_;
  };

  [[nodiscard]] Place emplace(int process) {
    const std::lock_guard lock(mutex_);
    processes_.push_back(process);
    return {*this, processes_.size() - 1};
  }
  /// Ends one, in turn; returns when its locks are free. False: there is none yet.
  bool endOne(const PostgresDatabase& database) {
    int process = 0;
    {
      const std::lock_guard lock(mutex_);
      if (processes_.empty()) {
        return false;
      }
      process = processes_[next_++ % processes_.size()];
    }
    database.run("SELECT pg_terminate_backend(" + std::to_string(process) + ", 10000)");
    return true;
  }

private:
  std::mutex mutex_;
  std::vector<int> processes_;
  std::size_t next_ = 0;
};

}  // namespace ackbox::testing
