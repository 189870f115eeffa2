#include "free_port.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>

namespace main_job {

std::uint16_t freePort(std::mt19937_64& random) {
  std::uniform_int_distribution<int> draw(20'000, 32'000);
  for (int attempt = 0; attempt < 1'000; ++attempt) {
    const auto port = static_cast<std::uint16_t>(draw(random));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    const int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (probe < 0) {
      continue;
    }
    const bool isFree = bind(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    close(probe);
    if (isFree) {
      return port;
    }
  }
  throw std::runtime_error("no free loopback port between 20000 and 32000");
}

}  // namespace main_job
