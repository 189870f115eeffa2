#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <string>

namespace ackbox::testing {

/// A port of loopback that stays this test's own while none of its servers listens. A server that allows the reuse of
/// addresses may listen on it; a connection meanwhile is refused. A port that is merely free may be given to a server
/// of another program, which then hears what was meant for this one.
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
  // Bound, and never listening.
  boost::asio::ip::tcp::socket socket_;
  std::uint16_t number_ = 0;
};

}  // namespace ackbox::testing
