#include <sys/socket.h>

#include <boost/asio/post.hpp>
#include <cerrno>
#include <utility>

#include "transport/on_strand.hpp"
#include "transport/quiet.hpp"
#include "transport/stream.hpp"

namespace ackbox::transport {
namespace {

namespace asio = boost::asio;

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

  [[nodiscard]] bool isQuiet() override { return isSocketQuiet(socket_.native_handle()); }

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

}  // namespace ackbox::transport
