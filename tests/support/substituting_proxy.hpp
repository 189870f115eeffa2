#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "support/temp_dir.hpp"

namespace ackbox::testing {

/// Passes the bytes of one connection at a time to a Unix socket, and writes `instead` behind the first `mark` that the
/// other side sends.
class SubstitutingProxy {
public:
  SubstitutingProxy(std::string target, std::string mark, std::string instead)
      : target_(std::move(target)),
        mark_(std::move(mark)),
        instead_(std::move(instead)),
        listener_(socketFor(folder() + "/.s.PGSQL.5432", true)),
        thread_([this] { serve(); }) {}
  ~SubstitutingProxy() {
    // The wait for a connection ends.
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  SubstitutingProxy(const SubstitutingProxy&) = delete;
  SubstitutingProxy& operator=(const SubstitutingProxy&) = delete;

  [[nodiscard]] std::string folder() const { return dir_.file("").string(); }

private:
  static int socketFor(const std::string& path, bool listens) {
    const int made = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    const bool isDone = listens ? ::bind(made, generic, sizeof(address)) == 0 && ::listen(made, 1) == 0
                                : ::connect(made, generic, sizeof(address)) == 0;
    if (!isDone) {
      ::close(made);
      throw std::runtime_error("no socket at " + path);
    }
    return made;
  }

  void serve() const {
    for (int client = ::accept(listener_, nullptr, nullptr); client >= 0;
         client = ::accept(listener_, nullptr, nullptr)) {
      const int server = socketFor(target_, false);
      while (pass(client, server)) {
      }
      ::close(client);
      ::close(server);
    }
  }

  [[nodiscard]] bool pass(int client, int server) const {
    std::array<pollfd, 2> ends{pollfd{client, POLLIN, 0}, pollfd{server, POLLIN, 0}};
    if (::poll(ends.data(), ends.size(), -1) < 0) {
      return false;
    }
    const bool isAnswer = (ends[1].revents & (POLLIN | POLLHUP)) != 0;
    std::string bytes(65'536, '\0');
    const ssize_t size = ::read(isAnswer ? server : client, bytes.data(), bytes.size());
    if (size <= 0) {
      return false;
    }
    bytes.resize(static_cast<std::size_t>(size));
    if (const std::size_t found = isAnswer ? bytes.find(mark_) : std::string::npos; found != std::string::npos) {
      bytes.replace(found + mark_.size(), instead_.size(), instead_);
    }
    return ::write(isAnswer ? client : server, bytes.data(), bytes.size()) == size;
  }

  const TempDir dir_;
  const std::string target_;
  const std::string mark_;
  const std::string instead_;
  const int listener_;
  std::thread thread_;
};

}  // namespace ackbox::testing
