#pragma once

#include <libpq-fe.h>
#include <pwd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include "support/comes_to.hpp"
#include "support/postgres_server.hpp"
#include "support/spawn.hpp"
#include "support/temp_dir.hpp"

namespace ackbox::testing {

/// A real PgBouncer in front of the tests' server, with one connection to each database; ends with this object.
class PgBouncer {
public:
  static constexpr const char* kProgram = "/usr/sbin/pgbouncer";
  [[nodiscard]] static bool isInstalled() { return std::filesystem::exists(kProgram); }

  /// `mode`: "transaction" or "session".
  explicit PgBouncer(const std::string& mode) {
    const std::string settings = folder() + "/settings";
    std::filesystem::permissions(folder(), std::filesystem::perms::all);
    std::ofstream(settings) << "[databases]\n* = host=" << PostgresServer::get().folder()
                            << " user=postgres\n[pgbouncer]\nlisten_addr=\nlisten_port=5432\nunix_socket_dir="
                            << folder() << "\nauth_type=any\npool_mode=" << mode
                            << "\ndefault_pool_size=1\nlogfile=" << folder() << "/log\n";
    process_ = spawn(kProgram, {"pgbouncer", "--quiet", settings}, [] {
      // It refuses to run as root.
      const passwd* const user = geteuid() == 0 ? getpwnam("postgres") : nullptr;
      if (user != nullptr && (setgid(user->pw_gid) != 0 || setuid(user->pw_uid) != 0)) {
        _exit(1);
      }
    });
    if (!comesTo([this] { return PQping(location("postgres").c_str()) == PQPING_OK; })) {
      end();
      throw std::runtime_error("PgBouncer does not answer");
    }
  }
  ~PgBouncer() { end(); }
  PgBouncer(const PgBouncer&) = delete;
  PgBouncer& operator=(const PgBouncer&) = delete;

  [[nodiscard]] std::string location(const std::string& database) const {
    return "host=" + folder() + " user=postgres dbname=" + database;
  }

private:
  [[nodiscard]] std::string folder() const { return dir_.file("").parent_path().string(); }
  void end() const {
    kill(process_.id, SIGKILL);
    waitpid(process_.id, nullptr, 0);
    close(process_.input);
    close(process_.output);
  }

  const TempDir dir_;
  Spawned process_;
};

}  // namespace ackbox::testing
