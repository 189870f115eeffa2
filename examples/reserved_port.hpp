#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <string>

/// Stands for the port that a deployment gives an agent. It is bound and does not listen: until an agent listens on it,
/// connections are refused, and no other program gets it.
class ReservedPort {
public:
  ReservedPort() : socket_(context_, boost::asio::ip::tcp::v4()) {
    socket_.set_option(boost::asio::socket_base::reuse_address(true));
    socket_.bind({boost::asio::ip::address_v4::loopback(), 0});
  }

  [[nodiscard]] std::uint16_t number() const { return socket_.local_endpoint().port(); }
  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(number()) + "/inbox"; }

private:
  boost::asio::io_context context_;
  boost::asio::ip::tcp::socket socket_;
};
