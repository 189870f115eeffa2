#include "silent_peer.hpp"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace crash {
namespace {

using std::chrono::steady_clock;

bool readable(int descriptor, steady_clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_clock::now());
  pollfd waiting{descriptor, POLLIN, 0};
  return poll(&waiting, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0))) > 0;
}

}  // namespace

SilentPeer::SilentPeer() : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  if (listener_ < 0 || bind(listener_, reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      listen(listener_, SOMAXCONN) != 0 ||
      getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    throw std::system_error(errno, std::generic_category(), "cannot listen");
  }
  port_ = ntohs(address.sin_port);
}

SilentPeer::~SilentPeer() {
  close(listener_);
  if (connection_ >= 0) {
    close(connection_);
  }
}

std::string SilentPeer::url() const {
  return "http://127.0.0.1:" + std::to_string(port_) + "/inbox";
}

std::optional<steady_clock::time_point> SilentPeer::awaitRequest(std::chrono::milliseconds patience) {
  const auto deadline = steady_clock::now() + patience;
  if (connection_ < 0) {
    if (!readable(listener_, deadline)) {
      return std::nullopt;
    }
    connection_ = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  }
  if (connection_ < 0 || !readable(connection_, deadline)) {
    return std::nullopt;
  }
  return steady_clock::now();
}

}  // namespace crash
