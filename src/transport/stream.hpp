#pragma once

#include <array>
#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ackbox/clock.hpp"

namespace ackbox::transport {

class TlsContext;

/// A connected socket of any kind: TCP, or a socket in the file system.
using Socket = boost::asio::generic::stream_protocol::socket;

/// The allowed range of the option that limits the headers of a request or an answer.
inline constexpr std::size_t kHeaderBytesLeast = 1024;
inline constexpr std::size_t kHeaderBytesMost = std::size_t{16} * 1024;

/// How much is read ahead of the parser, beyond the headers. The parser's own limits count neither chunk extensions nor
/// trailers: without a limit of the buffer, one line would fill the memory. Together with the headers it holds no field
/// longer than 16 bits can count, at which Beast's own containers throw.
inline constexpr std::size_t kReadAheadBytes = std::size_t{48} * 1024;
static_assert(kHeaderBytesMost + kReadAheadBytes <= 65'536);

/// A connection, plain or encrypted, behind one type: Beast's parsers are compiled once for both.
///
/// Thread-safety: none; owned by the strand that is its executor, on which everything completes.
/// Lifetime: as Asio's sockets: keep it until its operations have completed.
class Stream {
public:
  using executor_type = boost::asio::any_io_executor;
  using Error = boost::system::error_code;
  using Transferred = boost::asio::any_completion_handler<void(Error, std::size_t)>;

  virtual ~Stream() = default;

  [[nodiscard]] virtual executor_type get_executor() = 0;

  /// Must complete before the first read or write. `failure` is a sentence for people, empty on success.
  virtual void asyncHandshake(std::function<void(std::string failure)> done) = 0;

  template <typename Buffers, typename Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    return boost::asio::async_initiate<Token, void(Error, std::size_t)>(
        [this](auto handler, const Buffers& into) { readSome(firstOf(into), Transferred(std::move(handler))); }, token,
        buffers);
  }

  template <typename Buffers, typename Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    return boost::asio::async_initiate<Token, void(Error, std::size_t)>(
        [this](auto handler, const Buffers& from) {
          ConstBuffers list{};
          const std::size_t count = gather(from, list);
          writeSome(list, count, Transferred(std::move(handler)));
        },
        token, buffers);
  }

  /// Shuts down writing, so that the other side sees the end.
  virtual void asyncFinish(std::function<void()> done) = 0;
  /// After `asyncFinish`: reads and throws away any bytes that arrive.
  virtual void asyncDiscardSome(boost::asio::mutable_buffer buffer, Transferred done) = 0;

  /// Calls `done` when there is something to read (also the end), or when the stream is closed. Reads nothing.
  virtual void asyncAwaitInput(std::function<void()> done) = 0;

  /// Whether an idle connection has nothing to read, not even its end.
  [[nodiscard]] virtual bool isQuiet() = 0;
  /// Whether the other side has ended the connection, or its half of it. Earlier bytes may still be unread.
  [[nodiscard]] virtual bool hasEnded() = 0;
  /// The other side's numeric address, for IPv6 the network of one site (`2001:db8:1:2::/64`); `unix` on a socket file;
  /// empty: it is not known any more.
  [[nodiscard]] virtual std::string peerAddress() { return {}; }
  /// The URIs in the other side's certificate, if one was verified.
  [[nodiscard]] virtual std::vector<std::string> peerUris() const { return {}; }
  /// The earliest expiry among the certificates that verified the other side.
  [[nodiscard]] virtual std::optional<WallTime> peerCertificateEnd() const { return std::nullopt; }

  /// The problem of this side's certificate that `error`, from a read, reports, for people; empty: the error has
  /// another cause. A server with TLS 1.3 asks for a certificate in the handshake and judges it afterwards.
  [[nodiscard]] virtual std::string certificateProblem(const Error& /*error*/) const { return {}; }

  virtual void close() = 0;

protected:
  /// Holds all lines of a request and its body; the next call writes further buffers.
  using ConstBuffers = std::array<boost::asio::const_buffer, 32>;

  virtual void readSome(boost::asio::mutable_buffer buffer, Transferred done) = 0;
  virtual void writeSome(const ConstBuffers& buffers, std::size_t count, Transferred done) = 0;

private:
  template <typename Buffers>
  static boost::asio::mutable_buffer firstOf(const Buffers& buffers) {
    const auto end = boost::asio::buffer_sequence_end(buffers);
    for (auto each = boost::asio::buffer_sequence_begin(buffers); each != end; ++each) {
      const boost::asio::mutable_buffer buffer = *each;
      if (buffer.size() > 0) {
        return buffer;
      }
    }
    return {};
  }

  template <typename Buffers>
  static std::size_t gather(const Buffers& buffers, ConstBuffers& list) {
    std::size_t count = 0;
    const auto end = boost::asio::buffer_sequence_end(buffers);
    for (auto each = boost::asio::buffer_sequence_begin(buffers); each != end && count < list.size(); ++each) {
      const boost::asio::const_buffer buffer = *each;
      if (buffer.size() > 0) {
        list[count++] = buffer;
      }
    }
    return count;
  }
};

/// Without TLS.
[[nodiscard]] std::shared_ptr<Stream> makePlainStream(Socket socket);

/// The server's side of TLS. Throws `Error` with `outOfMemory`.
[[nodiscard]] std::shared_ptr<Stream> makeTlsServerStream(Socket socket, TlsContext& context, WallTime now);

/// The client's side of TLS, to the server `host`, a name or an address.
[[nodiscard]] std::shared_ptr<Stream> makeTlsClientStream(Socket socket, TlsContext& context, const std::string& host,
                                                          WallTime now);

}  // namespace ackbox::transport
