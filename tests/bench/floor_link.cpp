#include "bench/floor_link.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string_view>

#include "bench/naive_baseline.hpp"

namespace ackbox::bench {
namespace {

int require(int result, const char* what) {
  if (result < 0) {
    throw std::runtime_error(std::string("cannot ") + what);
  }
  return result;
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

const sockaddr* general(const sockaddr_in* address) {
  return reinterpret_cast<const sockaddr*>(address);
}

void sendNow(int socket, const std::string& text) {
  // Each message fits the socket's buffer, so that one call takes all of it.
  if (send(socket, text.data(), text.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(text.size())) {
    throw std::runtime_error("cannot send");
  }
}

// A whole HTTP message's body; nothing when the connection ended.
std::optional<std::string> receiveBody(int socket) {
  constexpr std::string_view kLength = "content-length: ";
  std::string text;
  std::array<char, 4096> buffer{};
  while (true) {
    const ssize_t size = recv(socket, buffer.data(), buffer.size(), 0);
    if (size <= 0) {
      return std::nullopt;
    }
    text.append(buffer.data(), static_cast<std::size_t>(size));
    const std::size_t headers = text.find("\r\n\r\n");
    if (headers != std::string::npos) {
      const std::size_t length = std::stoul(text.substr(text.find(kLength) + kLength.size()));
      if (text.size() >= headers + 4 + length) {
        return text.substr(headers + 4, length);
      }
    }
  }
}

void sendAtOnce(int socket) {
  const int on = 1;
  require(setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on), "set TCP_NODELAY");
}

}  // namespace

FloorLink::FloorLink(const std::filesystem::path& file, const std::string& port)
    : table_(std::make_unique<NaiveTable>(file)), socket_(require(socket(AF_INET, SOCK_STREAM, 0), "make a socket")) {
  const sockaddr_in address = loopback(static_cast<std::uint16_t>(std::stoul(port)));
  require(connect(socket_, general(&address), sizeof address), "connect");
  sendAtOnce(socket_);
}

FloorLink::~FloorLink() {
  close(socket_);
}

void FloorLink::deliver(const std::string& messageId, const std::string& session, const std::string& data) {
  table_->insert(messageId, session, data);
  sendNow(socket_, "POST /inbox HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: " +
                       std::to_string(data.size()) + "\r\n\r\n" + data);
  if (!receiveBody(socket_)) {
    throw std::runtime_error("no reply");
  }
}

int runFloorReceiver(const std::filesystem::path& file) {
  NaiveTable table(file);
  const int listener = require(socket(AF_INET, SOCK_STREAM, 0), "make a socket");
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  require(bind(listener, general(&address), size), "bind");
  require(listen(listener, 1), "listen");
  require(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), "read the port");
  std::cout << ntohs(address.sin_port) << std::endl;
  const int connection = require(accept(listener, nullptr, nullptr), "accept");
  sendAtOnce(connection);
  std::uint64_t number = 0;
  while (const std::optional<std::string> data = receiveBody(connection)) {
    table.insert(std::to_string(++number), "session", *data);
    sendNow(connection, "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 11\r\n\r\n{\"ok\":true}");
  }
  close(connection);
  close(listener);
  return 0;
}

}  // namespace ackbox::bench
