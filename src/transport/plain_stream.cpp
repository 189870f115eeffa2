#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <bit>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <cstring>
#include <utility>

#include "transport/on_strand.hpp"
#include "transport/quiet.hpp"
#include "transport/stream.hpp"

namespace ackbox::transport {
namespace {

namespace asio = boost::asio;

// The bytes of an address that name a site's network.
constexpr int kSiteBytes = 8;

class PlainStream final : public Stream {
public:
  explicit PlainStream(Socket socket) : socket_(std::move(socket)) {}

  [[nodiscard]] executor_type get_executor() override { return socket_.get_executor(); }

  void asyncHandshake(std::function<void(std::string)> done) override {
    asio::post(socket_.get_executor(), [done = std::move(done)] { done({}); });
  }

  void asyncFinish(std::function<void()> done) override {
    Error ignored;
    socket_.shutdown(asio::socket_base::shutdown_send, ignored);
    asio::post(socket_.get_executor(), std::move(done));
  }

  void asyncDiscardSome(asio::mutable_buffer buffer, Transferred done) override { readSome(buffer, std::move(done)); }

  void asyncAwaitInput(std::function<void()> done) override {
    socket_.async_wait(Socket::wait_read, [done = std::move(done)](const Error&) { done(); });
  }

  [[nodiscard]] bool isQuiet() override { return isSocketQuiet(socket_.native_handle()); }
  [[nodiscard]] std::string peerAddress() override { return peerAddressOf(socket_.native_handle()); }
  [[nodiscard]] bool hasEnded() override { return hasSocketEnded(socket_.native_handle()); }

  void close() override {
    Error ignored;
    socket_.close(ignored);
  }

protected:
  void readSome(asio::mutable_buffer buffer, Transferred done) override {
    socket_.async_read_some(asio::buffer(buffer), onStrand(std::move(done)));
  }

  void writeSome(const ConstBuffers& buffers, std::size_t count, Transferred done) override {
    if (count == 1) {
      socket_.async_write_some(asio::buffer(buffers.front()), onStrand(std::move(done)));
    } else {
      socket_.async_write_some(buffers, onStrand(std::move(done)));
    }
  }

private:
  Socket socket_;
};

}  // namespace

std::shared_ptr<Stream> makePlainStream(Socket socket) {
  return std::make_shared<PlainStream>(std::move(socket));
}

bool isSocketQuiet(int descriptor) {
  char byte = 0;
  const ssize_t got = ::recv(descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

bool hasSocketEnded(int descriptor) {
  pollfd looked{descriptor, POLLRDHUP, 0};
  return ::poll(&looked, 1, 0) > 0;
}

std::string peerAddressOf(int descriptor) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getpeername(descriptor, std::bit_cast<sockaddr*>(&address), &size) != 0) {
    return {};
  }
  if (address.ss_family == AF_INET) {
    const auto bytes = std::bit_cast<sockaddr_in*>(&address)->sin_addr;
    return asio::ip::make_address_v4(ntohl(bytes.s_addr)).to_string();
  }
  if (address.ss_family != AF_INET6) {
    return "unix";
  }
  asio::ip::address_v6::bytes_type bytes{};
  std::memcpy(bytes.data(), &std::bit_cast<sockaddr_in6*>(&address)->sin6_addr, bytes.size());
  const asio::ip::address_v6 whole(bytes);
  if (whole.is_v4_mapped()) {
    return asio::ip::make_address_v4(asio::ip::v4_mapped, whole).to_string();
  }
  if (whole.is_loopback()) {
    return whole.to_string();
  }
  std::fill(bytes.begin() + kSiteBytes, bytes.end(), 0);
  return asio::ip::address_v6(bytes).to_string() + "/64";
}

}  // namespace ackbox::transport
