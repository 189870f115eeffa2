#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <string>

namespace ackbox::testing {

/// A loopback port that stays reserved for this test while none of its servers listens. A server that allows the reuse
/// of addresses may listen on it; until then a connection is refused. A merely free port could be given to a server of
/// another program, which would then receive this test's requests.
class ReservedPort {
public:
  ReservedPort() : socket_(context_, boost::asio::ip::tcp::v4()) {
    socket_.set_option(boost::asio::socket_base::reuse_address(true));
    socket_.bind({boost::asio::ip::address_v4::loopback(), 0});
    number_ = socket_.local_endpoint().port();
  }

  [[nodiscard]] std::uint16_t number() const noexcept { return number_; }
  [[nodiscard]] std::string url(const std::string& path = "/inbox", const std::string& scheme = "http") const {
    return scheme + "://127.0.0.1:" + std::to_string(number_) + path;
  }

private:
  boost::asio::io_context context_;
  // Bound, but never listening.
  boost::asio::ip::tcp::socket socket_;
  std::uint16_t number_ = 0;
};

}  // namespace ackbox::testing
