#pragma once

#include <array>
#include <atomic>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "unit/transport/io_thread.hpp"

namespace ackbox::testing {

/// Stands between a client and a server of loopback, and breaks each connection after as many bytes of the server as
/// `bytesOf` says of the connection with this number, from 0; 0: it does not break it.
class CuttingProxy {
public:
  using BytesOf = std::function<std::size_t(std::size_t number)>;

  CuttingProxy(std::uint16_t server, BytesOf bytesOf)
      : server_(server),
        bytesOf_(std::move(bytesOf)),
        acceptor_(io_.executor(), {boost::asio::ip::address_v4::loopback(), 0}) {
    accept();
  }
  ~CuttingProxy() {
    boost::asio::post(io_.executor(), [this] { acceptor_.close(); });
    isEnding_ = true;
    boost::asio::post(io_.executor(), [this] {
      for (const std::weak_ptr<Pair>& pair : pairs_) {
        if (const auto open = pair.lock()) {
          open->close();
        }
      }
    });
    io_.finish();
  }
  CuttingProxy(const CuttingProxy&) = delete;
  CuttingProxy& operator=(const CuttingProxy&) = delete;

  [[nodiscard]] std::string url() const {
    return "http://127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port());
  }
  /// How many connections were made.
  [[nodiscard]] std::size_t connections() const { return count_; }

private:
  using Socket = boost::asio::ip::tcp::socket;
  struct Pair {
    Pair(Socket one, Socket other, std::size_t bytesLeft)
        : client(std::move(one)), server(std::move(other)), left(bytesLeft) {}
    void close() {
      boost::system::error_code ignored;
      client.close(ignored);
      server.close(ignored);
    }
    Socket client;
    Socket server;
    std::size_t left;
    std::array<char, 4096> up{};
    std::array<char, 4096> down{};
  };

  void accept() {
    acceptor_.async_accept([this](const boost::system::error_code& error, Socket client) {
      if (error || isEnding_) {
        return;
      }
      Socket server(io_.executor());
      boost::system::error_code refused;
      server.connect({boost::asio::ip::address_v4::loopback(), server_}, refused);
      const std::size_t bytes = bytesOf_(count_);
      ++count_;
      if (!refused) {
        const auto pair = std::make_shared<Pair>(std::move(client), std::move(server), bytes);
        pairs_.push_back(pair);
        goUp(pair);
        goDown(pair);
      }
      accept();
    });
  }
  void goUp(const std::shared_ptr<Pair>& pair) {
    pair->client.async_read_some(boost::asio::buffer(pair->up), [this, pair](const auto& error, std::size_t size) {
      boost::system::error_code failed = error;
      if (!failed) {
        boost::asio::write(pair->server, boost::asio::buffer(pair->up, size), failed);
      }
      failed ? pair->close() : goUp(pair);
    });
  }
  void goDown(const std::shared_ptr<Pair>& pair) {
    pair->server.async_read_some(boost::asio::buffer(pair->down), [this, pair](const auto& error, std::size_t size) {
      boost::system::error_code failed = error;
      const bool isCut = pair->left != 0 && size >= pair->left;
      if (!failed) {
        boost::asio::write(pair->client, boost::asio::buffer(pair->down, isCut ? pair->left : size), failed);
      }
      pair->left -= pair->left == 0 || isCut ? 0 : size;
      failed || isCut ? pair->close() : goDown(pair);
    });
  }

  const std::uint16_t server_;
  const BytesOf bytesOf_;
  IoThread io_;
  boost::asio::ip::tcp::acceptor acceptor_;
  std::vector<std::weak_ptr<Pair>> pairs_;
  std::atomic<std::size_t> count_ = 0;
  std::atomic<bool> isEnding_ = false;
};

}  // namespace ackbox::testing
