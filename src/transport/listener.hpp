#pragma once

#include <sys/types.h>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ip/address.hpp>
#include <cstdint>
#include <optional>
#include <string>

namespace ackbox::transport {

using Acceptor =
    boost::asio::basic_socket_acceptor<boost::asio::generic::stream_protocol, boost::asio::any_io_executor>;

/// Where a server listens: a numeric address with a port, or `unix:PATH`, a socket in the file system to which only its
/// owner may connect (0600).
class ListenAddress {
public:
  /// Throws `Error` with `invalidOption`.
  ListenAddress(const std::string& address, std::uint16_t port);

  /// Whether only processes of this machine can connect.
  [[nodiscard]] bool isLocal() const noexcept { return isLocal_; }
  [[nodiscard]] bool isUnix() const noexcept { return !path_.empty(); }

  /// Whether the two addresses cannot be listened on at once, however they are spelt: they have one address and port,
  /// or one port and an address that stands for all addresses of the machine. Port 0 is a new port each time.
  [[nodiscard]] bool collidesWith(const ListenAddress& other) const;

  /// Binds and listens. Replaces a socket file that no process listens on any more.
  /// Throws `Error`: `cannotListen`, `outOfDescriptors`.
  void listen(Acceptor& acceptor);

  /// Removes the socket file, if it is still the one that this object made.
  void removeFile() const noexcept;

  /// The port, once it listens; 0 for a socket file.
  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  /// `127.0.0.1:7070`, `[::1]:7070` or `unix:PATH`.
  [[nodiscard]] std::string text() const;

private:
  void removeStaleFile() const;
  /// Called between bind and listen, when no client can connect yet.
  void protectFile();

  boost::asio::generic::stream_protocol::endpoint endpoint_;
  std::string host_;
  // For TCP.
  boost::asio::ip::address numeric_;
  std::uint16_t port_ = 0;
  // The path of a socket file; otherwise empty.
  std::string path_;
  bool isLocal_ = false;
  struct FileIdentity {
    dev_t device;
    ino_t inode;
  };
  std::optional<FileIdentity> made_;
};

}  // namespace ackbox::transport
