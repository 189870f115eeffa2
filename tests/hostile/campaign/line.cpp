#include "hostile/campaign/line.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <utility>

namespace ackbox::campaign {
namespace {

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

bool pollFor(int descriptor, short events, Instant deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  pollfd waited{.fd = descriptor, .events = events, .revents = 0};
  return ::poll(&waited, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0))) == 1;
}

// The length of a message that is there with its headers; nothing if it does not say.
std::size_t lengthOf(std::string_view message, std::size_t headersEnd) {
  constexpr std::string_view kLength = "Content-Length: ";
  const std::size_t found = message.substr(0, headersEnd).find(kLength);
  return found == std::string_view::npos
             ? headersEnd
             : headersEnd + std::strtoul(message.data() + found + kLength.size(), nullptr, 10);
}

}  // namespace

Line::Line(std::uint16_t port, int receiveBufferBytes)
    : descriptor_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  if (receiveBufferBytes > 0) {
    ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVBUF, &receiveBufferBytes, sizeof(receiveBufferBytes));
  }
  sockaddr_in address = loopback(port);
  if (::connect(descriptor_, std::bit_cast<sockaddr*>(&address), sizeof(address)) != 0 && errno != EINPROGRESS) {
    close();
  }
}

Line::Line(Line&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)), kept_(std::move(other.kept_)) {}

Line& Line::operator=(Line&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(kept_, other.kept_);
  return *this;
}

Line::~Line() {
  close();
}

Line Line::adopt(int descriptor) {
  Line line;
  line.descriptor_ = descriptor;
  return line;
}

bool Line::hasEnded() const {
  pollfd waited{.fd = descriptor_, .events = POLLRDHUP, .revents = 0};
  return descriptor_ < 0 || ::poll(&waited, 1, 0) != 0;
}

std::size_t Line::sendSome(std::string_view bytes) {
  const ssize_t sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  return sent > 0 ? static_cast<std::size_t>(sent) : 0;
}

bool Line::sendAll(std::string_view bytes, Instant deadline) {
  while (!bytes.empty()) {
    if (!await(POLLOUT, deadline)) {
      return false;
    }
    const std::size_t sent = sendSome(bytes);
    if (sent == 0) {
      return false;
    }
    bytes.remove_prefix(sent);
  }
  return true;
}

std::string Line::receiveMessage(Instant deadline) {
  bool isWhole = false;
  return receiveMessage(deadline, isWhole);
}

std::string Line::receiveMessage(Instant deadline, bool& isWhole) {
  std::array<char, 16384> piece{};
  isWhole = false;
  while (true) {
    if (const std::size_t end = kept_.find("\r\n\r\n"); end != std::string::npos) {
      const std::size_t length = lengthOf(kept_, end + 4);
      if (kept_.size() >= length) {
        isWhole = true;
        std::string message = kept_.substr(0, length);
        kept_.erase(0, length);
        return message;
      }
    }
    if (!await(POLLIN, deadline)) {
      return std::exchange(kept_, {});
    }
    const ssize_t got = ::recv(descriptor_, piece.data(), piece.size(), MSG_DONTWAIT);
    if (got <= 0) {
      return std::exchange(kept_, {});
    }
    kept_.append(piece.data(), static_cast<std::size_t>(got));
  }
}

void Line::reset() {
  const linger abort{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &abort, sizeof(abort));
  close();
}

void Line::close() {
  if (descriptor_ >= 0) {
    ::close(std::exchange(descriptor_, -1));
  }
}

bool Line::await(short events, Instant deadline) const {
  return descriptor_ >= 0 && pollFor(descriptor_, events, deadline);
}

Listener::Listener() : descriptor_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof(address);
  auto* const generic = std::bit_cast<sockaddr*>(&address);
  if (::bind(descriptor_, generic, size) != 0 || ::listen(descriptor_, SOMAXCONN) != 0 ||
      ::getsockname(descriptor_, generic, &size) != 0) {
    throw std::system_error(errno, std::generic_category(), "cannot listen");
  }
  port_ = ntohs(address.sin_port);
}

Listener::~Listener() {
  ::close(descriptor_);
}

std::string Listener::url() const {
  return "http://127.0.0.1:" + std::to_string(port_) + "/inbox";
}

Line Listener::accept(Instant deadline) const {
  if (!pollFor(descriptor_, POLLIN, deadline)) {
    return {};
  }
  return Line::adopt(::accept4(descriptor_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

std::string statusOf(std::string_view answer) {
  constexpr std::string_view kVersion = "HTTP/1.1 ";
  if (answer.empty()) {
    return "no answer";
  }
  return answer.starts_with(kVersion) ? std::string(answer.substr(kVersion.size(), 3)) : "no status";
}

}  // namespace ackbox::campaign
