#include "unit/transport/raw_peer.hpp"

#include <arpa/inet.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace ackbox::testing {
namespace {

constexpr int kPatienceMs = 10'000;

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

sockaddr* generic(sockaddr_in& address) {
  return std::bit_cast<sockaddr*>(&address);
}

int openSocket() {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) {
    fail("socket");
  }
  return descriptor;
}

// Binds to a port that the kernel chooses.
std::uint16_t bindAny(int descriptor) {
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof(address);
  if (::bind(descriptor, generic(address), size) != 0 || ::getsockname(descriptor, generic(address), &size) != 0) {
    fail("bind");
  }
  return ntohs(address.sin_port);
}

void awaitEvent(int descriptor, short events) {
  pollfd waited{.fd = descriptor, .events = events, .revents = 0};
  if (::poll(&waited, 1, kPatienceMs) != 1) {
    throw std::runtime_error("the other side kept the test waiting for ten seconds");
  }
}

}  // namespace

RawConnection::RawConnection(std::uint16_t port) : RawConnection(port, 0) {}

RawConnection::RawConnection(std::uint16_t port, int receiveBufferBytes) : descriptor_(openSocket()) {
  if (receiveBufferBytes > 0) {
    ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVBUF, &receiveBufferBytes, sizeof(receiveBufferBytes));
  }
  sockaddr_in address = loopback(port);
  if (::connect(descriptor_, generic(address), sizeof(address)) != 0) {
    fail("connect");
  }
}

RawConnection::RawConnection(FromDescriptor from) : descriptor_(from.descriptor) {}

RawConnection RawConnection::adopt(int descriptor) {
  return RawConnection(FromDescriptor{descriptor});
}

RawConnection::RawConnection(RawConnection&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), kept_(std::move(other.kept_)) {}

RawConnection::~RawConnection() {
  close();
}

void RawConnection::send(std::string_view bytes) {
  while (!bytes.empty()) {
    awaitEvent(descriptor_, POLLOUT);
    const ssize_t sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      fail("send");
    }
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

void RawConnection::awaitDelivery() const {
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  int unacknowledged = 1;
  while (unacknowledged > 0) {
    if (ioctl(descriptor_, SIOCOUTQ, &unacknowledged) != 0 || std::chrono::steady_clock::now() > patience) {
      throw std::runtime_error("what was sent is not delivered");
    }
    std::this_thread::yield();
  }
}

void RawConnection::sendWhileTaken(std::string_view bytes) {
  try {
    send(bytes);
  } catch (const std::system_error&) {
    // The other side has closed: its answer is still to be read.
  }
}

bool RawConnection::sendSome(std::string_view bytes) {
  constexpr int kSettleMs = 1000;
  while (!bytes.empty()) {
    pollfd waited{.fd = descriptor_, .events = POLLOUT, .revents = 0};
    if (::poll(&waited, 1, kSettleMs) != 1) {
      return false;
    }
    const ssize_t sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      return false;
    }
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool RawConnection::receiveSome() {
  std::array<char, 4096> piece{};
  awaitEvent(descriptor_, POLLIN);
  const ssize_t got = ::recv(descriptor_, piece.data(), piece.size(), 0);
  if (got <= 0) {
    return false;
  }
  kept_.append(piece.data(), static_cast<std::size_t>(got));
  return true;
}

std::string RawConnection::receiveUntil(std::string_view marker) {
  std::size_t found = kept_.find(marker);
  while (found == std::string::npos) {
    if (!receiveSome()) {
      throw std::runtime_error("the stream ended before '" + std::string(marker) + "', after: " + kept_);
    }
    found = kept_.find(marker);
  }
  return receiveExactly(found + marker.size());
}

std::string RawConnection::receiveExactly(std::size_t size) {
  while (kept_.size() < size) {
    if (!receiveSome()) {
      throw std::runtime_error("the stream ended early, after: " + kept_);
    }
  }
  std::string taken = kept_.substr(0, size);
  kept_.erase(0, size);
  return taken;
}

std::string RawConnection::receiveMessage() {
  std::string message = receiveUntil("\r\n\r\n");
  constexpr std::string_view kLength = "Content-Length: ";
  const std::size_t length = message.find(kLength);
  if (length != std::string::npos) {
    message += receiveExactly(std::stoul(message.substr(length + kLength.size())));
  }
  return message;
}

std::string RawConnection::receiveAll() {
  while (receiveSome()) {
  }
  return std::exchange(kept_, {});
}

bool RawConnection::hasNewsWithin(std::chrono::milliseconds time) const {
  pollfd waited{.fd = descriptor_, .events = POLLIN, .revents = 0};
  return ::poll(&waited, 1, static_cast<int>(time.count())) == 1;
}

void RawConnection::close() {
  if (descriptor_ >= 0) {
    ::close(std::exchange(descriptor_, -1));
  }
}

void RawConnection::reset() {
  const linger abort{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &abort, sizeof(abort));
  close();
}

RawServer::RawServer(std::vector<Script> scripts) : listener_(openSocket()) {
  port_ = bindAny(listener_);
  if (::listen(listener_, 16) != 0) {
    fail("listen");
  }
  thread_ = std::thread([this, scripts = std::move(scripts)] { play(scripts); });
}

RawServer::~RawServer() {
  static_cast<void>(finish());
  ::close(listener_);
}

std::string RawServer::url(const std::string& path) const {
  return "http://127.0.0.1:" + std::to_string(port_) + path;
}

std::string RawServer::finish() {
  if (thread_.joinable()) {
    thread_.join();
  }
  return failure_;
}

void RawServer::play(const std::vector<Script>& scripts) {
  for (const Script& script : scripts) {
    try {
      awaitEvent(listener_, POLLIN);
      const int accepted = ::accept(listener_, nullptr, nullptr);
      if (accepted < 0) {
        fail("accept");
      }
      RawConnection connection = RawConnection::adopt(accepted);
      script(connection);
    } catch (const std::exception& error) {
      failure_ = error.what();
    }
  }
}

}  // namespace ackbox::testing
