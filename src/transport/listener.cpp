#include "transport/listener.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "ackbox/error.hpp"
#include "base/system_failure.hpp"

namespace ackbox::transport {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

constexpr std::string_view kUnixPrefix = "unix:";
// The longest path that the kernel's address of a socket file can hold, without the terminating zero.
constexpr std::size_t kPathBytesMax = 107;
constexpr mode_t kSocketMode = 0600;

std::uint16_t portOf(const Acceptor& acceptor, error_code& error) {
  const auto local = acceptor.local_endpoint(error);
  asio::ip::tcp::endpoint endpoint;
  if (error || local.size() > endpoint.capacity()) {
    return 0;
  }
  std::memcpy(endpoint.data(), local.data(), local.size());
  endpoint.resize(local.size());
  return endpoint.port();
}

}  // namespace

ListenAddress::ListenAddress(const std::string& address, std::uint16_t port) : port_(port) {
  if (address.starts_with(kUnixPrefix)) {
    path_ = address.substr(kUnixPrefix.size());
    if (path_.empty() || path_.size() > kPathBytesMax || path_.find('\0') != std::string::npos) {
      throw OptionError("address", "the path behind unix: must have 1 to 107 bytes");
    }
    if (port_ != 0) {
      throw OptionError("port", "must be 0 where `address` is a socket file");
    }
    endpoint_ = asio::local::stream_protocol::endpoint(path_);
    isLocal_ = true;
    return;
  }
  error_code error;
  const asio::ip::address numeric = asio::ip::make_address(address, error);
  if (error) {
    throw OptionError("address", "must be a numeric IPv4 or IPv6 address, or unix: and a path");
  }
  endpoint_ = asio::ip::tcp::endpoint(numeric, port);
  isLocal_ = numeric.is_loopback();
  host_ = numeric.is_v6() ? "[" + numeric.to_string() + "]" : numeric.to_string();
  // An IPv4 address that is written as IPv6.
  numeric_ = numeric.is_v6() && numeric.to_v6().is_v4_mapped()
                 ? asio::ip::address(asio::ip::make_address_v4(asio::ip::v4_mapped, numeric.to_v6()))
                 : numeric;
}

std::string ListenAddress::text() const {
  return isUnix() ? std::string(kUnixPrefix) + path_ : host_ + ":" + std::to_string(port_);
}

bool ListenAddress::collidesWith(const ListenAddress& other) const {
  if (isUnix() || other.isUnix()) {
    std::error_code ignored;
    return isUnix() && other.isUnix() &&
           std::filesystem::weakly_canonical(std::filesystem::absolute(path_), ignored) ==
               std::filesystem::weakly_canonical(std::filesystem::absolute(other.path_), ignored);
  }
  const bool isAll = numeric_.is_unspecified() || other.numeric_.is_unspecified();
  return port_ != 0 && port_ == other.port_ && (numeric_ == other.numeric_ || isAll);
}

void ListenAddress::listen(Acceptor& acceptor) {
  error_code error;
  const auto check = [&] {
    if (error) {
      throw Error(errcOf(error, Errc::cannotListen), text() + ": " + error.message());
    }
  };
  if (isUnix()) {
    removeStaleFile();
  }
  acceptor.open(endpoint_.protocol(), error);
  check();
  if (!isUnix()) {
    acceptor.set_option(asio::socket_base::reuse_address(true), error);
    check();
  }
  acceptor.bind(endpoint_, error);
  check();
  if (isUnix()) {
    protectFile();
  }
  acceptor.listen(asio::socket_base::max_listen_connections, error);
  check();
  if (!isUnix()) {
    port_ = portOf(acceptor, error);
    check();
  }
}

// A process that was killed leaves its socket file behind, and a bind would find the path in use for ever.
void ListenAddress::removeStaleFile() const {
  struct stat found {};
  if (::lstat(path_.c_str(), &found) != 0) {
    return;
  }
  if (!S_ISSOCK(found.st_mode)) {
    throw Error(Errc::cannotListen, text() + ": there is a file that is no socket");
  }
  // Does not wait: a listener with a full queue is also a listener.
  const int probe = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (probe < 0) {
    throw Error(errcOf(error_code(errno, boost::system::system_category()), Errc::cannotListen),
                text() + ": " + std::generic_category().message(errno));
  }
  const int failure = ::connect(probe, endpoint_.data(), static_cast<socklen_t>(endpoint_.size())) == 0 ? 0 : errno;
  ::close(probe);
  if (failure == ECONNREFUSED) {
    ::unlink(path_.c_str());
  }
}

void ListenAddress::protectFile() {
  struct stat found {};
  if (::chmod(path_.c_str(), kSocketMode) != 0 || ::lstat(path_.c_str(), &found) != 0) {
    throw Error(Errc::cannotListen, text() + ": " + std::generic_category().message(errno));
  }
  made_ = FileIdentity{found.st_dev, found.st_ino};
}

void ListenAddress::removeFile() const noexcept {
  struct stat found {};
  if (made_ && ::lstat(path_.c_str(), &found) == 0 && found.st_dev == made_->device && found.st_ino == made_->inode) {
    ::unlink(path_.c_str());
  }
}

}  // namespace ackbox::transport
